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
#include "symbols/passed.h"

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

/* Is it an offset from a register, which has the same value when the function is entered? */
static bool is_based(const Dwarf_Op *op, bool is_exact)
{
	int reg = op->atom - DW_OP_breg0;

	return reg >= 0 && reg <= 31 && (is_exact || passed_in_register(reg));
}

/* Memory at an offset from a register, as it is when the function is entered. False: it is not. */
static bool set_memory(struct typed_place *p, Dwarf_Die *function, const Dwarf_Op *op,
		       bool is_exact)
{
	int64_t offset = (int64_t)op->number;
	int reg;

	p->is_address = true;
	if (op->atom == DW_OP_call_frame_cfa ||
	    (op->atom == DW_OP_fbreg && cfa_distance(function, offset, &offset))) {
		p->how.reg = DP_REG_SP;
		p->how.add = DP_CALL_SIZE + offset;
		return offset >= 0; /* below, there is only the function's own */
	}
	p->how.add = offset;
	if (is_exact && op->atom == DW_OP_fbreg && frame_register(function, &reg))
		return set_register(p, reg) == 0;
	return is_based(op, is_exact) && set_register(p, op->atom - DW_OP_breg0) == 0;
}

/* Memory whose address is in memory, as that of an object which is passed by a pointer on the stack. */
static bool set_address(struct typed_place *p, Dwarf_Die *function, const Dwarf_Op ops[2],
			bool is_exact)
{
	if (ops[1].atom != DW_OP_deref || !set_memory(p, function, &ops[0], is_exact))
		return false;
	p->how.derefs[p->how.n_derefs++] = (__s32)p->how.add;
	p->how.size = sizeof(uint64_t);
	p->how.add = 0;
	return true;
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
static bool set_sum(struct typed_place *p, const Dwarf_Op *ops, size_t n, bool is_exact)
{
	if (n < 2 || !is_based(&ops[0], is_exact) || ops[n - 1].atom != DW_OP_stack_value ||
	    !only_narrows(ops + 1, n - 2))
		return false;
	p->how.add = (__s64)ops[0].number;
	return set_register(p, ops[0].atom - DW_OP_breg0) == 0;
}

/*
 * The location of a value, or of a piece of one. Without a list, it may hold only behind the prologue. 0,
 * -ENOENT: where that is when the function is entered is not known, or -EINVAL, explained.
 */
static int set_part(struct typed_place *p, Dwarf_Die *function, const Dwarf_Op *ops, size_t n,
		    bool is_list)
{
	const struct typed_place before = *p;
	int reg;

	if (n == 1 && is_register(&ops[0], &reg))
		return set_register(p, reg);
	if (n == 1 && set_memory(p, function, &ops[0], is_list))
		return 0;
	*p = before;
	if (n == 2 && set_address(p, function, ops, is_list))
		return 0;
	*p = before;
	if (set_sum(p, ops, n, is_list))
		return 0;
	*p = before;
	return -ENOENT;
}

/* The operations of a piece, DW_OP_piece among them. 0: there is no further one. */
static size_t piece_length(const Dwarf_Op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ops[i].atom == DW_OP_piece || ops[i].atom == DW_OP_bit_piece)
			return i + 1;
	return 0;
}

/* Errors as above. Of a list, some pieces may be nowhere. */
static int set_pieces(struct typed_place *p, Dwarf_Die *function, const Dwarf_Op *ops, size_t n,
		      bool is_list)
{
	uint64_t offset = 0;
	bool lacks_some = false;

	for (size_t at = 0, length; (length = piece_length(ops + at, n - at)) > 0; at += length) {
		struct typed_place piece = { .why = p->why };
		const Dwarf_Op *end = &ops[at + length - 1];

		if (end->atom == DW_OP_bit_piece)
			return -ENOENT;
		if (length == 1 || set_part(&piece, function, ops + at, length - 1, is_list) < 0)
			lacks_some = true;
		else if (!typed_place_add(p, offset, &piece))
			return -ENOENT;
		offset += end->number;
	}
	p->why[0] = '\0';
	return p->n_pieces > 0 && (is_list || !lacks_some) ? 0 : -ENOENT;
}

/* An object in a register is a piece of its own, for its first member. */
static int set_whole(struct typed_place *p, Dwarf_Die *function, Dwarf_Die *parameter,
		     const Dwarf_Op *ops, size_t n, bool is_list)
{
	int err = set_part(p, function, ops, n, is_list);
	struct typed_place piece = *p;
	Dwarf_Die type;

	if (err < 0 || p->is_address || !type_of(parameter, &type) || !type_is_struct(&type))
		return err;
	p->how = (struct dp_argument){ 0 };
	return typed_place_add(p, 0, &piece) ? 0 : -ENOENT;
}

static int set_location(struct typed_place *p, Dwarf_Die *function, Dwarf_Die *parameter,
			uint64_t address)
{
	const struct typed_place before = *p;
	Dwarf_Attribute attribute;
	Dwarf_Block block;
	bool is_list;
	size_t n = 0;
	Dwarf_Op *ops;
	int err;

	if (!dwarf_attr(parameter, DW_AT_location, &attribute) ||
	    dwarf_getlocation_addr(&attribute, address, &ops, &n, 1) != 1 || n == 0 ||
	    ops[0].atom == DW_OP_GNU_parameter_ref /* only its caller knows it */) {
		snprintf(p->why, PARAMETER_WHY_SIZE, OPTIMIZED_OUT);
		return -EINVAL;
	}
	is_list = dwarf_formblock(&attribute, &block) != 0;
	err = piece_length(ops, n) > 0 ? set_pieces(p, function, ops, n, is_list) :
					 set_whole(p, function, parameter, ops, n, is_list);
	if (err != -ENOENT)
		return err;
	*p = before;
	p->why[0] = '\0';
	if (!is_list && passed_place(function, address, parameter, p))
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

/* 0, or -EINVAL, explained. */
static int find_place(Dwarf_Die *function, uint64_t address, const char *name, size_t n,
		      struct typed_place *p)
{
	Dwarf_Die parameter;
	int err = 0;

	if (!find_parameter(function, name, n, &parameter)) {
		snprintf(p->why, PARAMETER_WHY_SIZE, "the function has no parameter %.*s", (int)n,
			 name);
		return -EINVAL;
	}
	if (!set_constant(p, &parameter))
		err = set_location(p, function, &parameter, address);
	if (err == 0 && !type_of(&parameter, &p->type)) {
		snprintf(p->why, PARAMETER_WHY_SIZE, "its type is not known");
		return -EINVAL;
	}
	return err;
}

static int find_result(Dwarf_Die *function, struct typed_place *p)
{
	if (passed_result(function, p) && type_of(function, &p->type))
		return 0;
	snprintf(p->why, PARAMETER_WHY_SIZE, "how the function returns it is not known");
	return -EINVAL;
}

/* Finds "parameter->member" as a wanted type, or is_result->member. 0, or -EINVAL, explained. */
static int find_value(Dwarf_Die *function, uint64_t address, const char *path, bool is_result,
		      enum value_type wanted, struct typed_place *p, enum value_type *ret)
{
	size_t n = strcspn(path, "-.");
	int err = is_result ? find_result(function, p) : find_place(function, address, path, n, p);

	if (err == 0)
		err = member_path_follow(p, path + n);
	return err < 0 ? err : typed_place_read(p, wanted, ret);
}

/* The length of a text: an integer. */
static int find_length(Dwarf_Die *function, uint64_t address, const struct parameter_wanted *wanted,
		       struct parameter *ret)
{
	struct typed_place place = { .why = ret->why };
	enum value_type type;
	int err = find_value(function, address, wanted->length, wanted->is_result, VALUE_N_TYPES,
			     &place, &type);

	if (err < 0)
		return err;
	if (value_type_kind(type) != VALUE_IS_UNSIGNED &&
	    value_type_kind(type) != VALUE_IS_SIGNED) {
		snprintf(ret->why, sizeof(ret->why), "its length is no integer");
		return -EINVAL;
	}
	ret->length = place.how;
	ret->length.size = (__u8)value_type_size(type);
	return 0;
}

/* -EINVAL, explained, or -ENOMEM. */
static int resolve(Dwarf_Die *function, uint64_t address, const struct parameter_wanted *wanted,
		   struct parameter *ret, struct enumerators *names)
{
	struct typed_place place = { .why = ret->why };
	enum value_type type;
	int err;

	if (wanted->length[0]) {
		err = find_length(function, address, wanted, ret);
		if (err < 0 || !wanted->path[0])
			return err;
	}
	err = find_value(function, address, wanted->path, wanted->is_result,
			 (enum value_type)wanted->type, &place, &type);
	if (err < 0)
		return err;
	ret->type = type;
	ret->how = place.how;
	if (place.how.is_text == DP_TEXT_SIZED && wanted->type != VALUE_BYTES)
		ret->length = place.length;
	return read_names(&place.type, wanted, ret, names);
}

/* A function in an open file. */
struct place {
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_Die function;
};

static void place_done(struct place *p)
{
	dwarf_end(p->dwarf);
	elf_end(p->elf);
}

/* Errors as of parameters_find(). place_done() frees *ret, always. */
static int place_find(int fd, uint64_t address, struct place *ret)
{
	struct search search = { .address = address, .budget = MAX_ENTRIES };

	*ret = (struct place){ .elf = elf_open(fd) };
	if (!ret->elf)
		return -ENOEXEC;
	if (!decompressed_debug_fits(ret->elf))
		return -ENODATA;
	ret->dwarf = dwarf_begin_elf(ret->elf, DWARF_C_READ, NULL);
	if (!ret->dwarf || !find_in_units(ret->dwarf, &search))
		return -ENODATA;
	ret->function = search.found;
	return 0;
}

int parameters_find(int fd, uint64_t address, const struct parameter_wanted *wanted, size_t n,
		    struct parameter *ret, struct enumerators *ret_names)
{
	_cleanup_(place_done) struct place place;
	int err = place_find(fd, address, &place);

	if (err < 0)
		return err;
	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct parameter){ 0 };
		if ((wanted[i].path[0] || wanted[i].length[0]) &&
		    resolve(&place.function, address, &wanted[i], &ret[i], ret_names) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

int parameters_list(int fd, uint64_t address, struct enumerators *ret)
{
	_cleanup_(place_done) struct place place;
	Dwarf_Die die;
	int more, err = place_find(fd, address, &place);

	if (err < 0)
		return err;
	for (more = dwarf_child(&place.function, &die); more == 0 && err == 0;
	     more = dwarf_siblingof(&die, &die)) {
		char why[PARAMETER_WHY_SIZE];
		struct typed_place value = { .why = why };
		const char *name = dwarf_diename(&die);
		enum value_type type;

		if (dwarf_tag(&die) != DW_TAG_formal_parameter || !name || strpbrk(name, "-."))
			continue;
		if (find_value(&place.function, address, name, false, VALUE_N_TYPES, &value,
			       &type) < 0)
			type = VALUE_N_TYPES;
		err = enumerators_add(ret, name, type);
		if (ret->n == ENUMERATION_MAX)
			break;
	}
	return err;
}
