// SPDX-License-Identifier: Apache-2.0
#include "values/string_type.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "values/member_path.h"

#define WORD 8
/* In bytes, of libc++'s strings */
#define LIBCXX_TEXT_AT 16

bool type_points_to_bytes(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = 0;
	Dwarf_Die target;

	if (dwarf_tag(type) != DW_TAG_pointer_type || !type_of(type, &target) ||
	    dwarf_tag(&target) != DW_TAG_base_type || dwarf_bytesize(&target) != 1)
		return false;
	dwarf_formudata(dwarf_attr(&target, DW_AT_encoding, &attribute), &encoding);
	return encoding != 0 && encoding != DW_ATE_boolean;
}

static bool has_prefix(Dwarf_Die *type, const char *prefix)
{
	const char *name = dwarf_diename(type);

	return name && strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_of_language(Dwarf_Die *type, int language)
{
	Dwarf_Die unit;

	return dwarf_diecu(type, &unit, NULL, NULL) && dwarf_srclang(&unit) == language;
}

/* The type of a member, or of one of its members, "a.b", and its offset. False: there is none. */
static bool find_member(Dwarf_Die *type, const char *path, Dwarf_Die *ret, int32_t *ret_offset)
{
	int64_t offset = 0;

	*ret = *type;
	while (*path) {
		size_t n = strcspn(path, ".");
		Dwarf_Die member;
		uint64_t more;

		if (!type_is_struct(ret) || !type_find_member(ret, path, n, &member, &more) ||
		    !type_of(&member, ret))
			return false;
		offset += (int64_t)more;
		path += n + (path[n] == '.');
	}
	*ret_offset = (int32_t)offset;
	return offset <= INT32_MAX;
}

static bool find_length(Dwarf_Die *type, const char *path, int32_t *ret)
{
	Dwarf_Die length;

	return find_member(type, path, &length, ret) && dwarf_tag(&length) == DW_TAG_base_type &&
	       dwarf_bytesize(&length) == WORD;
}

static bool find_text(Dwarf_Die *type, const char *path, int32_t *ret)
{
	Dwarf_Die pointer;

	return find_member(type, path, &pointer, ret) && type_points_to_bytes(&pointer);
}

/* Types with both among their members. */
static bool find_both(Dwarf_Die *type, struct string_layout *ret)
{
	static const struct {
		const char *pointer, *length;
		enum value_type type;
		int language; /* 0: names that only a standard library may have */
	} rows[] = {
		{ "_M_dataplus._M_p", "_M_string_length", VALUE_STD_STRING, 0 },
		{ "_M_str", "_M_len", VALUE_STD_STRING_VIEW, 0 },
		/* and libc++, of LLVM 14 and of later ones */
		{ "__data", "__size", VALUE_STD_STRING_VIEW, 0 },
		{ "__data_", "__size_", VALUE_STD_STRING_VIEW, 0 },
		{ "data_ptr", "length", VALUE_RUST_STR, DW_LANG_Rust },
		{ "str", "len", VALUE_GO_STR, DW_LANG_Go },
		{ "array", "len", VALUE_GO_STR, DW_LANG_Go },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ret->type = rows[i].type;
		if (find_text(type, rows[i].pointer, &ret->pointer) &&
		    find_length(type, rows[i].length, &ret->length) &&
		    (rows[i].language == 0 || is_of_language(type, rows[i].language)))
			return true;
	}
	return false;
}

/* Finds the pointer to bytes within members' members. */
static bool find_pointer(Dwarf_Die *type, int *budget, int64_t offset, int32_t *ret)
{
	Dwarf_Die member, inner;
	int more = dwarf_child(type, &member);

	for (; more == 0 && (*budget)-- > 0; more = dwarf_siblingof(&member, &member)) {
		uint64_t here;

		if (dwarf_tag(&member) != DW_TAG_member || !type_of(&member, &inner) ||
		    !type_member_offset(&member, &here))
			continue;
		*ret = (int32_t)(offset + (int64_t)here);
		if (type_points_to_bytes(&inner) ||
		    (type_is_struct(&inner) &&
		     find_pointer(&inner, budget, offset + (int64_t)here, ret)))
			return true;
	}
	return false;
}

/*
 * Rust's Vec<u8>, and String, which has one. How deep the pointer is in its buffer depends on the version
 * of the standard library; that it is a pointer to bytes there does not tell what of.
 */
static bool find_vector(Dwarf_Die *type, struct string_layout *ret)
{
	Dwarf_Die vector = *type, buffer;
	int32_t at = 0, buffer_at;
	int budget = STRING_TYPE_MAX_MEMBERS;

	if (!has_prefix(type, "String") && !has_prefix(type, "Vec<u8"))
		return false;
	if (!is_of_language(type, DW_LANG_Rust))
		return false;
	if (has_prefix(type, "String") && !find_member(type, "vec", &vector, &at))
		return false;
	if (!has_prefix(&vector, "Vec<u8,") && !has_prefix(&vector, "Vec<u8>"))
		return false;
	if (!find_length(&vector, "len", &ret->length) ||
	    !find_member(&vector, "buf", &buffer, &buffer_at) || !type_is_struct(&buffer) ||
	    !find_pointer(&buffer, &budget, (int64_t)at + buffer_at, &ret->pointer))
		return false;
	ret->length += at;
	ret->type = VALUE_RUST_STR;
	return true;
}

#define CHARACTERS "basic_string<char,"

static bool is_namespace(Dwarf_Die *die, const char *name)
{
	const char *own = dwarf_diename(die);

	return dwarf_tag(die) == DW_TAG_namespace && own && strcmp(own, name) == 0;
}

/* Only the standard library may declare a class in its namespaces. */
static bool find_declared(Dwarf_Die *type, struct string_layout *ret)
{
	_cleanup_free_ Dwarf_Die *scopes = NULL;
	int n;

	if (!has_prefix(type, CHARACTERS))
		return false;
	n = dwarf_getscopes_die(type, &scopes);
	if (n > 2 && is_namespace(&scopes[1], "__1") && is_namespace(&scopes[2], "std"))
		*ret = STRING_LAYOUT_LIBCXX;
	else if (n > 2 && is_namespace(&scopes[1], "__cxx11") && is_namespace(&scopes[2], "std"))
		*ret = STRING_LAYOUT_CXX11;
	else if (n > 1 && is_namespace(&scopes[1], "std"))
		*ret = STRING_LAYOUT_BEFORE_CXX11;
	else
		return false;
	return true;
}

/* clang may describe a string whose member with the pointer it only declares. */
static bool has_declared_pointer(Dwarf_Die *type)
{
	Dwarf_Die pointer;
	int32_t offset;

	return find_member(type, "_M_dataplus", &pointer, &offset) &&
	       dwarf_hasattr(&pointer, DW_AT_declaration);
}

/* libstdc++'s strings before C++11: what is in front of the text is a _Rep, if it is described. */
static bool find_counted(Dwarf_Die *type, struct string_layout *ret)
{
	Dwarf_Die rep;
	int32_t length;
	int more;

	if (!has_prefix(type, CHARACTERS))
		return false;
	*ret = STRING_LAYOUT_BEFORE_CXX11;
	if (!find_text(type, "_M_dataplus._M_p", &ret->pointer))
		return false;
	for (more = dwarf_child(type, &rep); more == 0; more = dwarf_siblingof(&rep, &rep)) {
		int size = dwarf_bytesize(&rep);

		if (type_is_struct(&rep) && has_prefix(&rep, "_Rep") && size > 0 &&
		    strcmp(dwarf_diename(&rep), "_Rep") == 0 &&
		    find_length(&rep, "_M_length", &length))
			ret->length = length - size;
	}
	return true;
}

/*
 * libc++'s strings: of their two layouts (<string>, _LIBCPP_ABI_ALTERNATE_STRING_LAYOUT), the usual one has the
 * address last.
 */
static bool find_libcxx(Dwarf_Die *type, struct string_layout *ret)
{
	Dwarf_Die inner;
	int32_t at;
	int more;

	if (!has_prefix(type, CHARACTERS))
		return false;
	*ret = STRING_LAYOUT_LIBCXX;
	for (more = dwarf_child(type, &inner); more == 0; more = dwarf_siblingof(&inner, &inner))
		if (type_is_struct(&inner) && has_prefix(&inner, "__long") &&
		    strcmp(dwarf_diename(&inner), "__long") == 0)
			return find_text(&inner, "__data_", &at) && at == LIBCXX_TEXT_AT;
	return false;
}

bool string_type_layout(Dwarf_Die *type, struct string_layout *ret)
{
	*ret = (struct string_layout){ 0 };
	if (!type_is_struct(type))
		return false;
	if (dwarf_hasattr(type, DW_AT_declaration) || has_declared_pointer(type))
		return find_declared(type, ret);
	return find_both(type, ret) || find_vector(type, ret) || find_libcxx(type, ret) ||
	       find_counted(type, ret);
}
