// SPDX-License-Identifier: Apache-2.0
#include "values/calling_convention.h"

#include <dwarf.h>
#include <string.h>

#include "base/array.h"
#include "limits/limits.h"
#include "values/string_type.h"

#define WORD 8
#define LARGEST_IN_REGISTERS 16

#define X(name) DP_##name,
static const __u8 registers[] = { DP_ARGUMENT_REGISTERS(X) };
#undef X

bool calling_convention_has_register(int reg)
{
	for (size_t i = 0; i < ARRAY_SIZE(registers); i++)
		if (registers[i] == reg)
			return true;
	return false;
}

enum passed {
	PASSED_UNKNOWN,
	PASSED_NOTHING,
	PASSED_INTEGER,
	PASSED_REFERENCE, /* an integer, its address */
	PASSED_BOTH,      /* two integers, both in registers or both on the stack */
	PASSED_EACH,      /* two integers, each for itself */
	PASSED_FLOAT,
	PASSED_MEMORY, /* on the stack, in as many words as it has */
};

/* Scalars that a type is made of: where the first two are, how many there are, and where the last one ends. */
struct scalars {
	uint64_t at[2];
	size_t n;
	uint64_t end;
	bool has_others; /* others than integers and pointers, or unaligned ones */
	bool is_packed;  /* some are unaligned */
	bool is_wide;    /* some are aligned to more than a word */
	bool has_union;
	int budget;
};

static bool is_pointer(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

/* LLVM does not say how large pointers are. */
static int size_of(Dwarf_Die *type)
{
	return is_pointer(type) ? WORD : dwarf_bytesize(type);
}

static void add_end(struct scalars *s, uint64_t end)
{
	if (end > s->end)
		s->end = end;
}

static void add_scalar(struct scalars *s, Dwarf_Die *type, uint64_t at)
{
	int size = size_of(type);

	if (size == 0)
		return; /* Rust's () */
	s->is_packed |= size > 0 && at % (uint64_t)size != 0;
	s->is_wide |= size > WORD;
	s->has_others |= size < 0 || size > WORD || s->is_packed || type_is_float(type);
	add_end(s, at + (size > 0 ? (uint64_t)size : 0));
	if (s->n < ARRAY_SIZE(s->at))
		s->at[s->n] = at;
	s->n++;
}

/* alignas() of a type or member */
static bool is_aligned_wide(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word alignment;

	return dwarf_formudata(dwarf_attr(die, DW_AT_alignment, &attribute), &alignment) == 0 &&
	       alignment > WORD;
}

static void find_scalars(struct scalars *s, Dwarf_Die *type, uint64_t at, int depth);

static void find_in_members(struct scalars *s, Dwarf_Die *type, uint64_t at, int depth)
{
	Dwarf_Die member, inner;
	int more = dwarf_child(type, &member);

	s->is_wide |= is_aligned_wide(type);
	for (; more == 0; more = dwarf_siblingof(&member, &member)) {
		int tag = dwarf_tag(&member);
		uint64_t offset;

		/* Rust's variants, and virtual bases */
		if (tag == DW_TAG_variant_part || --s->budget < 0) {
			s->has_others = true;
			return;
		}
		if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
			continue;
		s->is_wide |= is_aligned_wide(&member);
		if (type_member_offset(&member, &offset) && type_of(&member, &inner))
			find_scalars(s, &inner, at + offset, depth + 1);
		else if (!dwarf_hasattr(&member, DW_AT_external))
			s->has_others = true;
	}
}

/* An array counts as the first of its elements, and as a third scalar, if it has any. */
static void find_in_array(struct scalars *s, Dwarf_Die *type, uint64_t at, int depth)
{
	Dwarf_Die element;
	Dwarf_Word size;

	s->n += ARRAY_SIZE(s->at);
	if (dwarf_aggregate_size(type, &size) == 0)
		add_end(s, at + size);
	if (type_of(type, &element) && !dwarf_hasattr(type, DW_AT_GNU_vector))
		find_scalars(s, &element, at, depth + 1);
	else
		s->has_others = true;
}

static void find_scalars(struct scalars *s, Dwarf_Die *type, uint64_t at, int depth)
{
	if (depth > PASSED_MAX_DEPTH) {
		s->has_others = true;
		return;
	}
	switch (dwarf_tag(type)) {
	case DW_TAG_union_type:
		s->has_union = true;
		find_in_members(s, type, at, depth);
		return;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		find_in_members(s, type, at, depth);
		return;
	case DW_TAG_array_type:
		find_in_array(s, type, at, depth);
		return;
	case DW_TAG_base_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_unspecified_type: /* of nullptr */
		add_scalar(s, type, at);
		return;
	default:
		s->has_others = true;
	}
}

static struct scalars scalars_of(Dwarf_Die *type)
{
	struct scalars s = { .budget = PASSED_MAX_MEMBERS };

	find_scalars(&s, type, 0, 0);
	return s;
}

static enum passed number_passed(Dwarf_Die *type, int size)
{
	if (size <= 0 || size > WORD)
		return PASSED_UNKNOWN;
	return type_is_float(type) ? PASSED_FLOAT : PASSED_INTEGER;
}

/*
 * Is it an object that C++ passes, and returns, by a pointer to it? GCC does not say so of any; strings are
 * such, also where they are only declared.
 */
static bool is_by_reference(Dwarf_Die *type)
{
	struct string_layout layout;
	Dwarf_Attribute attribute;
	Dwarf_Word convention;

	if (string_type_layout(type, &layout) &&
	    (layout.type == VALUE_STD_STRING || layout.type == VALUE_LIBCXX_STRING))
		return true;
	return dwarf_formudata(dwarf_attr(type, DW_AT_calling_convention, &attribute),
			       &convention) == 0 &&
	       convention == DW_CC_pass_by_reference;
}

/* GCC says so only by the place: the object is where a register, or a word on the stack, points to. */
static bool is_at_address(Dwarf_Die *parameter, uint64_t address)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr(parameter, DW_AT_location, &attribute) ||
	    dwarf_getlocation_addr(&attribute, address, &ops, &n, 1) != 1)
		return false;
	if (n == 1)
		return ops[0].atom >= DW_OP_breg0 &&
		       calling_convention_has_register(ops[0].atom - DW_OP_breg0);
	return n == 2 && ops[0].atom == DW_OP_fbreg && ops[1].atom == DW_OP_deref;
}

/* A class with a destructor is passed by its address, unless that does nothing, which is not known. */
static bool has_destructor(Dwarf_Die *type, int *budget)
{
	Dwarf_Die die, inner;
	int more = dwarf_child(type, &die);

	for (; more == 0 && (*budget)-- > 0; more = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);
		const char *name = dwarf_diename(&die);

		if (tag == DW_TAG_subprogram && name && name[0] == '~')
			return true;
		if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) && type_of(&die, &inner) &&
		    type_is_struct(&inner) && has_destructor(&inner, budget))
			return true;
	}
	return *budget < 0;
}

/* May an object that is small enough for registers be passed by its address? */
static bool may_have_address(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	int budget = PASSED_MAX_MEMBERS;

	return !dwarf_attr(type, DW_AT_calling_convention, &attribute) &&
	       has_destructor(type, &budget);
}

/* Each word of the object that has a part of a scalar takes a register. */
static enum passed struct_passed(Dwarf_Die *parameter, uint64_t address, Dwarf_Die *type, int size)
{
	struct scalars s;

	if (is_by_reference(type) || is_at_address(parameter, address))
		return PASSED_REFERENCE;
	if (size > LARGEST_IN_REGISTERS)
		return PASSED_MEMORY;
	s = scalars_of(type);
	if (s.n == 0 || s.has_others || may_have_address(type))
		return PASSED_UNKNOWN;
	if (size <= WORD)
		return PASSED_INTEGER;
	return s.end > WORD && !s.is_wide ? PASSED_BOTH : PASSED_UNKNOWN;
}

static enum passed how_passed(Dwarf_Die *parameter, uint64_t address, Dwarf_Die *type)
{
	int size = dwarf_bytesize(type);

	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_unspecified_type:
		return PASSED_INTEGER;
	case DW_TAG_base_type:
		return number_passed(type, size);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return struct_passed(parameter, address, type, size);
	default:
		return PASSED_UNKNOWN;
	}
}

/* Scalars and pairs of them are passed as such, what is larger by a pointer. */
static enum passed how_passed_in_rust(Dwarf_Die *type)
{
	int size = size_of(type);
	struct scalars s = scalars_of(type);

	if (size == 0)
		return PASSED_NOTHING;
	if (dwarf_tag(type) == DW_TAG_base_type)
		return number_passed(type, size);
	if (size > LARGEST_IN_REGISTERS)
		return s.n == 2 ? PASSED_UNKNOWN : PASSED_REFERENCE;
	if (size < 0 || s.has_others || s.has_union || s.n == 0)
		return PASSED_UNKNOWN;
	if (s.n == 2)
		return PASSED_EACH;
	return size <= WORD ? PASSED_INTEGER : PASSED_UNKNOWN;
}

static int hidden_in_rust(Dwarf_Die *type)
{
	int size = dwarf_bytesize(type);
	struct scalars s;

	if (!type_is_struct(type))
		return dwarf_tag(type) == DW_TAG_array_type ? -1 : 0;
	if (size <= WORD)
		return size < 0 ? -1 : 0;
	s = scalars_of(type);
	if (size > LARGEST_IN_REGISTERS)
		return s.n == 2 ? -1 : 1;
	return s.n <= 2 && !s.has_others ? 0 : -1;
}

/*
 * Does the caller pass a pointer to where the result is to be, in front of the arguments? 1, 0, or -1: it
 * is not known.
 */
static int hidden_registers(Dwarf_Die *function, bool is_rust)
{
	Dwarf_Die type;
	int size;

	if (!type_of(function, &type))
		return 0;
	if (is_rust)
		return hidden_in_rust(&type);
	if (!type_is_struct(&type))
		return 0;
	size = dwarf_bytesize(&type);
	if (is_by_reference(&type) || size > LARGEST_IN_REGISTERS)
		return 1;
	return size < 0 || scalars_of(&type).is_packed || may_have_address(&type) ? -1 : 0;
}

/* What the arguments so far have taken. */
struct passing {
	size_t n_integers, n_floats, n_words;
};

/* The place of the next integer or pointer. */
static void next_integer(struct passing *p, struct typed_place *ret)
{
	ret->how = (struct dp_argument){ .reg = DP_REG_SP };
	ret->is_address = p->n_integers == ARRAY_SIZE(registers);
	if (ret->is_address)
		ret->how.add = DP_CALL_SIZE + WORD * (__s64)p->n_words++;
	else
		ret->how.reg = registers[p->n_integers++];
}

static void next_words(struct passing *p, int size, struct typed_place *ret)
{
	ret->how = (struct dp_argument){ .reg = DP_REG_SP };
	ret->how.add = DP_CALL_SIZE + WORD * (__s64)p->n_words;
	ret->is_address = true;
	p->n_words += ((size_t)size + WORD - 1) / WORD;
}

/* An address of the object, in a register or on the stack. */
static void next_reference(struct passing *p, struct typed_place *ret)
{
	next_integer(p, ret);
	if (ret->is_address) {
		ret->how.derefs[ret->how.n_derefs++] = (__s32)ret->how.add;
		ret->how.size = WORD;
		ret->how.add = 0;
	}
	ret->is_address = true;
}

static void next_pieces(struct passing *p, const struct scalars *s, size_t n,
			struct typed_place *ret)
{
	bool is_swapped = n == 2 && s->at[1] < s->at[0];

	for (size_t i = 0; i < n; i++) {
		struct typed_place piece = { 0 };

		next_integer(p, &piece);
		typed_place_add(ret, s->at[is_swapped ? 1 - i : i], &piece);
	}
	ret->how = (struct dp_argument){ 0 };
}

/* How an argument is passed that is the next one. */
static enum passed next_passed(const struct passing *p, Dwarf_Die *parameter, uint64_t address,
			       Dwarf_Die *type, bool is_rust)
{
	enum passed how = is_rust ? how_passed_in_rust(type) : how_passed(parameter, address, type);

	if (how == PASSED_MEMORY && scalars_of(type).is_wide)
		return PASSED_UNKNOWN; /* there may be a gap in front */
	if (how == PASSED_BOTH && p->n_integers + 2 > ARRAY_SIZE(registers))
		return PASSED_MEMORY;
	if (how == PASSED_FLOAT && p->n_floats == DP_N_FLOAT_ARGUMENT_REGISTERS)
		return PASSED_MEMORY;
	return how;
}

/* Takes room for an argument. False: it is not known how much. */
static bool pass(struct passing *p, Dwarf_Die *type, enum passed how, struct typed_place *ret)
{
	static const struct scalars words = { .at = { 0, WORD }, .n = 2 };
	struct scalars s;

	switch (how) {
	case PASSED_NOTHING:
		return true;
	case PASSED_INTEGER:
		if (type_is_struct(type))
			next_pieces(p, &words, 1, ret);
		else
			next_integer(p, ret);
		return true;
	case PASSED_REFERENCE:
		next_reference(p, ret);
		return true;
	case PASSED_BOTH:
		next_pieces(p, &words, 2, ret);
		return true;
	case PASSED_EACH:
		s = scalars_of(type);
		next_pieces(p, &s, 2, ret);
		return true;
	case PASSED_FLOAT:
		p->n_floats++;
		return true;
	case PASSED_MEMORY:
		next_words(p, dwarf_bytesize(type), ret);
		return true;
	default:
		return false;
	}
}

static int language_of(Dwarf_Die *function)
{
	Dwarf_Die unit;

	return dwarf_diecu(function, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;
}

/* Compilers say of functions that are not called by the convention: Go's, and those they changed (LLVM). */
static bool has_convention(Dwarf_Die *function, int language)
{
	Dwarf_Attribute attribute;
	Dwarf_Word convention = DW_CC_normal;

	dwarf_formudata(dwarf_attr_integrate(function, DW_AT_calling_convention, &attribute),
			&convention);
	return convention == DW_CC_normal && language != DW_LANG_Go;
}

/* One without a location: the compiler may have found that it is not needed. */
static bool may_be_removed(Dwarf_Die *parameter, enum passed how)
{
	return how != PASSED_NOTHING && !dwarf_hasattr(parameter, DW_AT_location);
}

bool calling_convention_parameter(Dwarf_Die *function, uint64_t address, Dwarf_Die *parameter,
				  struct typed_place *ret)
{
	int language = language_of(function);
	bool is_rust = language == DW_LANG_Rust;
	int hidden = hidden_registers(function, is_rust), more;
	struct passing next = { .n_integers = hidden > 0 };
	Dwarf_Die die, type;

	if (hidden < 0 || !has_convention(function, language))
		return false;
	more = dwarf_child(function, &die);
	for (int i = 0; more == 0 && i < PARAMETERS_MAX_CHILDREN;
	     i++, more = dwarf_siblingof(&die, &die)) {
		struct typed_place place = { .why = ret->why };
		enum passed how;

		if (dwarf_tag(&die) == DW_TAG_GNU_formal_parameter_pack)
			return false; /* any number of parameters */
		if (dwarf_tag(&die) != DW_TAG_formal_parameter)
			continue;
		if (!type_of(&die, &type))
			return false;
		how = next_passed(&next, &die, address, &type, is_rust);
		if (!pass(&next, &type, how, &place) || may_be_removed(&die, how))
			return false;
		if (die.addr != parameter->addr)
			continue;
		*ret = place;
		return how != PASSED_FLOAT && how != PASSED_NOTHING;
	}
	return false;
}

static void result_pieces(const uint64_t *at, size_t n, struct typed_place *ret)
{
	static const __u8 results[] = { DP_REG_RESULT, DP_REG_RESULT_NEXT };
	bool is_swapped = n == 2 && at[1] < at[0];

	for (size_t i = 0; i < n; i++) {
		struct typed_place piece = { .how = { .reg = results[i] } };

		typed_place_add(ret, at[is_swapped ? 1 - i : i], &piece);
	}
}

bool calling_convention_result(Dwarf_Die *function, struct typed_place *ret)
{
	static const uint64_t words[] = { 0, WORD };
	int language = language_of(function);
	enum passed how;
	Dwarf_Die type;

	if (!has_convention(function, language) || !type_of(function, &type))
		return false;
	how = language == DW_LANG_Rust ? how_passed_in_rust(&type) : how_passed(function, 0, &type);
	switch (how) {
	case PASSED_INTEGER:
		if (type_is_struct(&type))
			result_pieces(words, 1, ret);
		else
			ret->how.reg = DP_REG_RESULT;
		return true;
	case PASSED_BOTH:
		result_pieces(words, 2, ret);
		return true;
	case PASSED_EACH:
		result_pieces(scalars_of(&type).at, 2, ret);
		return true;
	case PASSED_REFERENCE:
	case PASSED_MEMORY:
		ret->how.reg = DP_REG_RESULT;
		ret->is_address = true;
		return true;
	default:
		return false;
	}
}
