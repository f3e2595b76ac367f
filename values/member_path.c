// SPDX-License-Identifier: Apache-2.0
#include "values/member_path.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "limits/limits.h"
#include "values/string_type.h"

static int fail(const struct typed_place *p, const char *format, const char *name, size_t n)
{
	snprintf(p->why, PARAMETER_WHY_SIZE, format, (int)n, name);
	return -EINVAL;
}

static bool referred_type(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attribute;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), ret) != NULL;
}

bool type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	bool is_known = referred_type(die, ret);

	for (int i = 0; is_known && i < TYPE_MAX_CHAIN; i++) {
		switch (dwarf_tag(ret)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			is_known = referred_type(ret, ret);
			break;
		default:
			return true;
		}
	}
	return false;
}

static bool is_pointer(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

bool type_is_struct(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

bool type_is_float(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = 0;

	dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attribute), &encoding);
	return encoding == DW_ATE_float || encoding == DW_ATE_complex_float ||
	       encoding == DW_ATE_imaginary_float || encoding == DW_ATE_decimal_float;
}

bool typed_place_add(struct typed_place *p, uint64_t offset, const struct typed_place *piece)
{
	if (p->n_pieces == TYPED_PLACE_PIECES)
		return false;
	p->pieces[p->n_pieces++] = (struct placed_piece){ offset, piece->is_address, piece->how };
	p->is_address = true;
	return true;
}

/* Goes on with the piece that begins where the value does. */
static int choose_piece(struct typed_place *p)
{
	for (size_t i = 0; i < p->n_pieces; i++) {
		const struct placed_piece *piece = &p->pieces[i];

		if ((__s64)piece->offset != p->how.add)
			continue;
		p->how = piece->how;
		p->is_address = piece->is_address;
		p->n_pieces = 0;
		return 0;
	}
	return fail(p, "that part of it is nowhere, or not at the begin of a register%.*s", "", 0);
}

/* Reads a word at the address, to be the value. */
static int load(struct typed_place *p)
{
	int err = p->n_pieces > 0 ? choose_piece(p) : 0;

	if (err < 0 || !p->is_address)
		return err;
	if (p->how.n_derefs == DP_MAX_DEREFS || p->how.add < INT32_MIN || p->how.add > INT32_MAX)
		return fail(p, "too many dereferences%.*s", "", 0);
	p->how.derefs[p->how.n_derefs++] = (__s32)p->how.add;
	p->how.size = sizeof(uint64_t);
	p->how.add = 0;
	p->is_address = false;
	return 0;
}

/* Goes to what a pointer points to. */
static int follow_pointer(struct typed_place *p)
{
	int err = load(p);

	if (err < 0)
		return err;
	if (!type_of(&p->type, &p->type))
		return fail(p, "it points to nothing known%.*s", "", 0);
	p->is_address = true;
	return 0;
}

bool type_member_offset(Dwarf_Die *member, uint64_t *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Word offset = 0;

	*ret = 0;
	if (!dwarf_attr(member, DW_AT_data_member_location, &attribute))
		return !dwarf_hasattr(member, DW_AT_external); /* of a union, not static */
	if (dwarf_formudata(&attribute, &offset) != 0)
		return false; /* of a virtual base */
	*ret = offset;
	return offset <= INT32_MAX;
}

static bool is_named(Dwarf_Die *die, const char *name, size_t n)
{
	const char *own = dwarf_diename(die);

	return own && strlen(own) == n && memcmp(own, name, n) == 0;
}

/* Finds a member, also in nameless ones and base classes. */
static bool find_member(Dwarf_Die *type, const char *name, size_t n, int depth, Dwarf_Die *ret,
			uint64_t *ret_offset)
{
	Dwarf_Die member, inner;
	int more = dwarf_child(type, &member);

	for (int i = 0; more == 0 && i < TYPE_MAX_MEMBERS; i++) {
		int tag = dwarf_tag(&member);
		uint64_t offset, inner_offset;

		if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
		    type_member_offset(&member, &offset)) {
			if (tag == DW_TAG_member && is_named(&member, name, n)) {
				*ret = member;
				*ret_offset = offset;
				return true;
			}
			if ((tag == DW_TAG_inheritance || !dwarf_diename(&member)) &&
			    depth < TYPE_MAX_NESTED && type_of(&member, &inner) &&
			    find_member(&inner, name, n, depth + 1, ret, &inner_offset)) {
				*ret_offset = offset + inner_offset;
				return true;
			}
		}
		more = dwarf_siblingof(&member, &member);
	}
	return false;
}

bool type_find_member(Dwarf_Die *type, const char *name, size_t n, Dwarf_Die *ret,
		      uint64_t *ret_offset)
{
	return find_member(type, name, n, 0, ret, ret_offset);
}

/* A struct may be only declared here, and defined in another unit. */
static int enter_struct(struct typed_place *p, const char *name, size_t n)
{
	Dwarf_Attribute attribute;

	if (!type_is_struct(&p->type))
		return fail(p, "what has the member %.*s is no struct", name, n);
	if (dwarf_attr(&p->type, DW_AT_declaration, &attribute))
		return fail(p, "the struct with %.*s is only declared here", name, n);
	if (!p->is_address)
		return fail(p, "the struct with %.*s is in registers", name, n);
	return 0;
}

static int follow_member(struct typed_place *p, const char *name, size_t n, bool by_arrow)
{
	Dwarf_Attribute attribute;
	Dwarf_Die member;
	uint64_t offset;
	int err = 0;

	if (by_arrow && !is_pointer(&p->type))
		return fail(p, "what has the member %.*s is no pointer", name, n);
	if (is_pointer(&p->type))
		err = follow_pointer(p);
	if (err == 0)
		err = enter_struct(p, name, n);
	if (err < 0)
		return err;
	if (!find_member(&p->type, name, n, 0, &member, &offset))
		return fail(p, "there is no member %.*s", name, n);
	if (dwarf_attr(&member, DW_AT_bit_size, &attribute))
		return fail(p, "the member %.*s is a bit-field", name, n);
	if (!type_of(&member, &p->type))
		return fail(p, "the type of %.*s is not known", name, n);
	p->how.add += (__s64)offset;
	return 0;
}

int member_path_follow(struct typed_place *p, const char *path)
{
	int err = 0;

	while (err == 0 && *path) {
		bool by_arrow = path[0] == '-';
		size_t n;

		path += by_arrow ? 2 : 1;
		n = strcspn(path, "-.");
		err = follow_member(p, path, n, by_arrow);
		path += n;
	}
	return err;
}

static bool is_character(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return dwarf_tag(type) == DW_TAG_base_type && dwarf_bytesize(type) == 1 && name &&
	       (strcmp(name, "char") == 0 || strcmp(name, "char8_t") == 0);
}

static bool points_to_characters(Dwarf_Die *type)
{
	Dwarf_Die target;

	return type_of(type, &target) && is_character(&target);
}

static enum value_type base_type(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = 0;
	int size = dwarf_bytesize(type);

	if (size < 0 || dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attribute), &encoding))
		return VALUE_N_TYPES;
	if (is_character(type))
		return VALUE_CHAR;
	switch (encoding) {
	case DW_ATE_boolean:
		return size == 1 ? VALUE_BOOL : value_type_of(VALUE_IS_UNSIGNED, (size_t)size);
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		return value_type_of(VALUE_IS_SIGNED, (size_t)size);
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		return value_type_of(VALUE_IS_UNSIGNED, (size_t)size);
	case DW_ATE_float:
		return value_type_of(VALUE_IS_FLOAT, (size_t)size);
	default:
		return VALUE_N_TYPES;
	}
}

/* The compiler's choice for an enum, if it tells. */
static enum value_type enum_type(Dwarf_Die *type)
{
	int size = dwarf_bytesize(type);
	Dwarf_Die base;

	if (type_of(type, &base) && dwarf_tag(&base) == DW_TAG_base_type)
		return base_type(&base);
	return size > 0 ? value_type_of(VALUE_IS_UNSIGNED, (size_t)size) : VALUE_N_TYPES;
}

static enum value_type own_type(Dwarf_Die *type)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
		return points_to_characters(type) ? VALUE_STR : VALUE_PTR;
	case DW_TAG_array_type:
		return points_to_characters(type) ? VALUE_STR : VALUE_N_TYPES;
	case DW_TAG_base_type:
		return base_type(type);
	case DW_TAG_enumeration_type:
		return enum_type(type);
	default:
		return VALUE_N_TYPES;
	}
}

/* Is it wanted as text, or may it be? */
static bool may_be_text(enum value_type wanted)
{
	return wanted == VALUE_N_TYPES || value_type_kind(wanted) == VALUE_IS_TEXT;
}

/* A pointer to an object with a text stands for that text. */
static int follow_to_string(struct typed_place *p, enum value_type wanted)
{
	struct string_layout layout;
	Dwarf_Die target;

	if (dwarf_tag(&p->type) != DW_TAG_pointer_type || !may_be_text(wanted) ||
	    !type_of(&p->type, &target) || !string_type_layout(&target, &layout))
		return 0;
	return follow_pointer(p);
}

/* What is read of the object depends on it: the kernel does that. */
static int read_libcxx(struct typed_place *p, enum value_type wanted, enum value_type *ret)
{
	*ret = VALUE_LIBCXX_STRING;
	if (wanted != VALUE_N_TYPES && wanted != VALUE_LIBCXX_STRING && wanted != VALUE_STD_STRING)
		return fail(p, "of a string of libc++, std::string alone can be read%.*s", "", 0);
	p->how.is_text = DP_TEXT_LIBCXX;
	return 0;
}

/* Of VALUE_BYTES, the length is another value. */
static int read_string(struct typed_place *p, const struct string_layout *layout,
		       enum value_type wanted, enum value_type *ret)
{
	struct typed_place length = *p;
	int err;

	if (!p->is_address)
		return fail(p, "the object with the text is in registers%.*s", "", 0);
	if (layout->type == VALUE_LIBCXX_STRING)
		return read_libcxx(p, wanted, ret);
	p->how.add += layout->pointer;
	err = load(p);
	*ret = wanted == VALUE_N_TYPES ? layout->type : wanted;
	if (err < 0 || !may_be_text(wanted))
		return err;
	p->how.is_text = DP_TEXT_SIZED;
	if (wanted == VALUE_BYTES)
		return 0;
	if (layout->is_by_text) {
		length = *p;
		length.how.is_text = DP_TEXT_NONE;
		length.is_address = true;
	}
	length.how.add += layout->length;
	err = load(&length);
	p->length = length.how;
	p->length.size = sizeof(uint64_t);
	return err;
}

/* Is a floating-point number wanted of one of another size? */
static bool is_other_float(Dwarf_Die *type, enum value_type wanted)
{
	return (wanted == VALUE_F32 || wanted == VALUE_F64) && type_is_float(type) &&
	       own_type(type) != wanted;
}

static bool is_text(enum value_type type)
{
	return type == VALUE_STR || type == VALUE_BYTES;
}

/* What is neither a text with its length nor a reference. */
static int read_plain(struct typed_place *p, enum value_type wanted, enum value_type *ret)
{
	bool is_array = dwarf_tag(&p->type) == DW_TAG_array_type;
	int err;

	*ret = wanted < VALUE_N_TYPES ? wanted : own_type(&p->type);
	if (*ret == VALUE_N_TYPES && type_is_struct(&p->type))
		return fail(p, "it is a struct: add ->MEMBER or .MEMBER%.*s", "", 0);
	if (*ret == VALUE_N_TYPES)
		return fail(
			p,
			"its type is no integer, f32, f64, enum, pointer, or text of C, C++, Rust or Go%.*s",
			"", 0);
	if (is_other_float(&p->type, *ret))
		return fail(p, "it is a floating-point number of another size%.*s", "", 0);
	if (*ret > VALUE_BYTES)
		return fail(
			p,
			"it is no string of C++, Rust or Go: str and bytes[LENGTH] are allowed%.*s",
			"", 0);
	if (is_text(*ret))
		p->how.is_text = *ret == VALUE_STR ? DP_TEXT_ENDED : DP_TEXT_SIZED;
	if (is_array && p->how.is_text)
		return p->is_address && p->n_pieces == 0 ?
			       0 :
			       fail(p, "the array is in registers%.*s", "", 0);
	if (!p->is_address)
		return 0;
	err = load(p);
	p->how.size = (__u8)value_type_size(*ret);
	return err;
}

int typed_place_read(struct typed_place *p, enum value_type wanted, enum value_type *ret)
{
	struct string_layout layout;
	int err = 0, tag = dwarf_tag(&p->type);

	if (tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type)
		err = follow_pointer(p);
	if (err == 0)
		err = follow_to_string(p, wanted);
	if (err < 0)
		return err;
	if (string_type_layout(&p->type, &layout))
		return read_string(p, &layout, wanted, ret);
	return read_plain(p, wanted, ret);
}
