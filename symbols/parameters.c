// SPDX-License-Identifier: Apache-2.0
#include "symbols/parameters.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "elf/decompressed.h"
#include "elf/elf_open.h"
#include "symbols/enumeration.h"
#include "symbols/member_path.h"

DEFINE_CLEANUP(Dwarf *, dwarf_end)

/* Damaged entries may refer to each other. */
#define MAX_DEPTH 32
#define MAX_ENTRIES (UINT64_C(1) << 26)

#define OPTIMIZED_OUT "optimized out: it is nowhere when the function is entered"

struct search {
	uint64_t address;
	uint64_t budget; /* entries that may still be visited */
	Dwarf_Die found;
};

static bool may_hold_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_subprogram ||
	       tag == DW_TAG_lexical_block;
}

/* Where a function begins: if it is in parts, the first is the one that is entered. */
static bool begins_at(Dwarf_Die *function, uint64_t address)
{
	Dwarf_Addr base, start, end;

	if (dwarf_entrypc(function, &start) != 0 &&
	    dwarf_ranges(function, 0, &base, &start, &end) <= 0)
		return false;
	return start == address;
}

static bool find_function(struct search *s, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;
	int more = depth < MAX_DEPTH ? dwarf_child(parent, &die) : 1;

	while (more == 0 && s->budget > 0) {
		int tag = dwarf_tag(&die);

		s->budget--;
		if (tag == DW_TAG_subprogram && begins_at(&die, s->address)) {
			s->found = die;
			return true;
		}
		if (may_hold_functions(tag) && find_function(s, &die, depth + 1))
			return true;
		more = dwarf_siblingof(&die, &die);
	}
	return false;
}

static bool find_in_units(Dwarf *dwarf, struct search *s)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, inner;

	while (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, &inner) == 0) {
		if (dwarf_haspc(&die, s->address) > 0 &&
		    find_function(s, inner.addr ? &inner : &die, 0))
			return true;
	}
	return false;
}

/* Is it an object that C++ passes, and returns, by a pointer to it? */
static bool is_by_reference(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word convention;

	return dwarf_formudata(dwarf_attr(type, DW_AT_calling_convention, &attribute),
			       &convention) == 0 &&
	       convention == DW_CC_pass_by_reference;
}

#define LARGEST_IN_REGISTERS 16

/* Where the psABI (3.2.3) passes an argument. */
enum passed {
	PASSED_UNKNOWN,
	PASSED_INTEGER,
	PASSED_FLOAT,
	PASSED_MEMORY, /* on the stack, in as many words as it has */
};

static enum passed number_passed(Dwarf_Die *type, int size)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = 0;

	dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attribute), &encoding);
	if (size <= 0 || size > 8)
		return PASSED_UNKNOWN;
	return encoding == DW_ATE_float ? PASSED_FLOAT : PASSED_INTEGER;
}

static enum passed how_passed(Dwarf_Die *type, int size)
{
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
		if (is_by_reference(type))
			return PASSED_INTEGER;
		return size > LARGEST_IN_REGISTERS ? PASSED_MEMORY : PASSED_UNKNOWN;
	default:
		return PASSED_UNKNOWN;
	}
}

/* 1 if the caller passes a pointer to where the result is to be, in front of the arguments. */
static size_t hidden_registers(Dwarf_Die *function)
{
	Dwarf_Die type;

	if (!type_of(function, &type) || !type_is_struct(&type))
		return 0;
	return is_by_reference(&type) || dwarf_bytesize(&type) > LARGEST_IN_REGISTERS;
}

/* What the arguments so far have taken. */
struct passing {
	size_t n_integers, n_floats, n_words;
};

/* Takes room for an argument. False: it is not known how much. */
static bool pass(struct passing *p, Dwarf_Die *parameter, enum passed *ret)
{
	Dwarf_Die type;
	int size;

	if (!type_of(parameter, &type))
		return false;
	size = dwarf_bytesize(&type);
	*ret = how_passed(&type, size);
	if (*ret == PASSED_INTEGER && p->n_integers == DP_N_ARGUMENT_REGISTERS)
		*ret = PASSED_MEMORY;
	if (*ret == PASSED_FLOAT && p->n_floats == DP_N_FLOAT_ARGUMENT_REGISTERS)
		*ret = PASSED_MEMORY;
	p->n_integers += *ret == PASSED_INTEGER;
	p->n_floats += *ret == PASSED_FLOAT;
	if (*ret == PASSED_MEMORY)
		p->n_words += size > 8 ? ((size_t)size + 7) / 8 : 1;
	return *ret != PASSED_UNKNOWN;
}

/* psABI: where an argument is passed, by those in front of it. False: it is not known. */
static bool set_by_position(struct typed_place *place, Dwarf_Die *function, Dwarf_Die *wanted)
{
#define X(name) DP_##name,
	static const __u8 registers[] = { DP_ARGUMENT_REGISTERS(X) };
#undef X
	struct passing next = { .n_integers = hidden_registers(function) };
	Dwarf_Die die;
	int more;

	for (more = dwarf_child(function, &die); more == 0; more = dwarf_siblingof(&die, &die)) {
		struct passing here = next;
		enum passed how;

		if (dwarf_tag(&die) != DW_TAG_formal_parameter)
			continue;
		if (!pass(&next, &die, &how))
			return false;
		if (die.addr != wanted->addr)
			continue;
		place->how.reg = how == PASSED_INTEGER ? registers[here.n_integers] : DP_REG_SP;
		place->is_address = how == PASSED_MEMORY;
		if (place->is_address)
			place->how.add = DP_CALL_SIZE + 8 * (__s64)here.n_words;
		return how != PASSED_FLOAT;
	}
	return false;
}

static bool is_register(const Dwarf_Op *op, int *ret)
{
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		*ret = op->atom - DW_OP_reg0;
	else if (op->atom == DW_OP_regx)
		*ret = (int)op->number;
	else
		return false;
	return true;
}

/* The register that is the frame base, behind the prologue. */
static bool frame_register(Dwarf_Die *function, int *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t n;

	return dwarf_getlocation(dwarf_attr_integrate(function, DW_AT_frame_base, &attribute), &ops,
				 &n) == 0 &&
	       n == 1 && is_register(&ops[0], ret);
}

/*
 * Distance from the CFA of what is `offset` behind the frame base, which is the CFA itself, or the
 * frame pointer, as it will be behind the prologue. False: neither.
 */
static bool cfa_distance(Dwarf_Die *function, int64_t offset, int64_t *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t n;
	int reg;

	if (frame_register(function, &reg)) {
		*ret = offset - DP_FP_CFA;
		return reg == DP_REG_FP;
	}
	*ret = offset;
	return dwarf_getlocation(dwarf_attr_integrate(function, DW_AT_frame_base, &attribute), &ops,
				 &n) == 0 &&
	       n == 1 && ops[0].atom == DW_OP_call_frame_cfa;
}

static int set_register(struct typed_place *p, int reg)
{
	if (reg < 0 || reg >= DP_REG_PC) {
		snprintf(p->why, PARAMETER_WHY_SIZE, "it is in no register for integers");
		return -EINVAL;
	}
	p->how.reg = (__u8)reg;
	return 0;
}

/* Memory at an offset from a register, as it is when the function is entered. False: it is not. */
static bool set_memory(struct typed_place *p, Dwarf_Die *function, const Dwarf_Op *op,
		       bool is_exact)
{
	int64_t offset = (int64_t)op->number;
	int reg;

	p->is_address = true;
	if (op->atom == DW_OP_fbreg && cfa_distance(function, offset, &offset)) {
		p->how.reg = DP_REG_SP;
		p->how.add = DP_CALL_SIZE + offset;
		return offset >= 0; /* below, there is only the function's own */
	}
	p->how.add = offset;
	if (is_exact && op->atom == DW_OP_fbreg && frame_register(function, &reg))
		return set_register(p, reg) == 0;
	if (is_exact && op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return set_register(p, op->atom - DW_OP_breg0) == 0;
	return false;
}

/* Does the value only lose bits that its type does not have? */
static bool only_narrows(const Dwarf_Op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (ops[i].atom) {
		case DW_OP_constu:
		case DW_OP_and:
		case DW_OP_convert:
		case DW_OP_GNU_convert:
			break;
		default:
			return false;
		}
	}
	return true;
}

/* A value that is computed from a register. */
static bool set_sum(struct typed_place *p, const Dwarf_Op *ops, size_t n)
{
	if (n < 2 || ops[0].atom < DW_OP_breg0 || ops[0].atom > DW_OP_breg31 ||
	    ops[n - 1].atom != DW_OP_stack_value || !only_narrows(ops + 1, n - 2))
		return false;
	p->how.add = (__s64)ops[0].number;
	return set_register(p, ops[0].atom - DW_OP_breg0) == 0;
}

/* Without a list, the location may hold only behind the prologue. */
static int set_location(struct typed_place *p, Dwarf_Die *function, Dwarf_Die *parameter,
			uint64_t address)
{
	const struct typed_place before = *p;
	Dwarf_Attribute attribute;
	Dwarf_Block block;
	bool is_list;
	size_t n = 0;
	Dwarf_Op *ops;
	int reg;

	if (!dwarf_attr(parameter, DW_AT_location, &attribute) ||
	    dwarf_getlocation_addr(&attribute, address, &ops, &n, 1) != 1 || n == 0 ||
	    ops[0].atom == DW_OP_GNU_parameter_ref /* only its caller knows it */) {
		snprintf(p->why, PARAMETER_WHY_SIZE, OPTIMIZED_OUT);
		return -EINVAL;
	}
	is_list = dwarf_formblock(&attribute, &block) != 0;
	if (n == 1 && is_register(&ops[0], &reg))
		return set_register(p, reg);
	if (n == 1 && set_memory(p, function, &ops[0], is_list))
		return 0;
	*p = before;
	if (is_list && set_sum(p, ops, n))
		return 0;
	*p = before;
	if (!is_list && set_by_position(p, function, parameter))
		return 0;
	snprintf(p->why, PARAMETER_WHY_SIZE,
		 "where it is when the function is entered is not known");
	return -EINVAL;
}

static bool set_constant(struct typed_place *p, Dwarf_Die *parameter)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	/* Compilers write negative ones as DW_FORM_sdata, and others in as few bytes as they need. */
	if (dwarf_formudata(dwarf_attr_integrate(parameter, DW_AT_const_value, &attribute),
			    &value) != 0)
		return false;
	p->how.base = DP_BASE_CONSTANT;
	p->how.add = (__s64)value;
	return true;
}

static bool find_parameter(Dwarf_Die *function, const char *name, size_t n, Dwarf_Die *ret)
{
	int more;

	for (more = dwarf_child(function, ret); more == 0; more = dwarf_siblingof(ret, ret)) {
		const char *own = dwarf_diename(ret);

		if (dwarf_tag(ret) == DW_TAG_formal_parameter && own && strlen(own) == n &&
		    memcmp(own, name, n) == 0)
			return true;
	}
	return false;
}

/* What is wanted as a number remains one. */
static int read_names(Dwarf_Die *type, const struct parameter_wanted *wanted, struct parameter *ret,
		      struct enumerators *names)
{
	const size_t n = names->n;
	int err = 0;

	if (wanted->type == VALUE_N_TYPES && dwarf_tag(type) == DW_TAG_enumeration_type)
		err = enumeration_read(type, (enum value_type)ret->type, names);
	ret->n_names = (uint32_t)(names->n - n);
	return err;
}

/* -EINVAL, explained, or -ENOMEM. */
static int resolve(Dwarf_Die *function, uint64_t address, const struct parameter_wanted *wanted,
		   struct parameter *ret, struct enumerators *names)
{
	struct typed_place place = { .why = ret->why };
	size_t n = strcspn(wanted->path, "-.");
	enum value_type type;
	Dwarf_Die parameter;
	int err = 0;

	if (!find_parameter(function, wanted->path, n, &parameter)) {
		snprintf(ret->why, sizeof(ret->why), "the function has no parameter %.*s", (int)n,
			 wanted->path);
		return -EINVAL;
	}
	if (!set_constant(&place, &parameter))
		err = set_location(&place, function, &parameter, address);
	if (err == 0 && !type_of(&parameter, &place.type)) {
		snprintf(ret->why, sizeof(ret->why), "its type is not known");
		return -EINVAL;
	}
	if (err == 0)
		err = member_path_follow(&place, wanted->path + n);
	if (err == 0)
		err = typed_place_read(&place, (enum value_type)wanted->type, &type);
	if (err < 0)
		return err;
	ret->type = type;
	ret->how = place.how;
	return read_names(&place.type, wanted, ret, names);
}

int parameters_find(int fd, uint64_t address, const struct parameter_wanted *wanted, size_t n,
		    struct parameter *ret, struct enumerators *ret_names)
{
	_cleanup_elf_ Elf *elf = elf_open(fd);
	_cleanup_(dwarf_endp) Dwarf *dwarf = NULL;
	struct search search = { .address = address, .budget = MAX_ENTRIES };

	if (!elf)
		return -ENOEXEC;
	if (!decompressed_debug_fits(elf))
		return -ENODATA;
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!dwarf || !find_in_units(dwarf, &search))
		return -ENODATA;
	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct parameter){ 0 };
		if (wanted[i].path[0] &&
		    resolve(&search.found, address, &wanted[i], &ret[i], ret_names) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}
