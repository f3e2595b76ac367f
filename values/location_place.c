// SPDX-License-Identifier: Apache-2.0
#include "values/location_place.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "values/calling_convention.h"

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

/*
 * Go writes single expressions as blocks, which since DWARF 4 are none for libdw (dwarf_getlocation.c,
 * attr_ok()). A short one has the bytes of DW_FORM_exprloc (DWARF 5 section 7.5.5).
 */
static void accept_block(Dwarf_Attribute *location)
{
	Dwarf_Block block;

	if (location->form == DW_FORM_block1 && dwarf_formblock(location, &block) == 0 &&
	    block.length < 0x80)
		location->form = DW_FORM_exprloc;
}

/* The only operation of a function's frame base. False: there are others, or none. */
static bool find_frame_base(Dwarf_Die *function, Dwarf_Op *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attribute))
		return false;
	accept_block(&attribute);
	if (dwarf_getlocation(&attribute, &ops, &n) != 0 || n != 1)
		return false;
	*ret = ops[0];
	return true;
}

/* The register that is the frame base, behind the prologue. */
static bool frame_register(Dwarf_Die *function, int *ret)
{
	Dwarf_Op op;

	return find_frame_base(function, &op) && is_register(&op, ret);
}

/*
 * Distance from the CFA of what is `offset` behind the frame base, which is the CFA itself, or, where the
 * function is entered, the frame pointer, as it will be behind the prologue. False: neither.
 */
static bool cfa_distance(struct code_place *at, int64_t offset, int64_t *ret)
{
	Dwarf_Op op;
	int reg;

	if (!find_frame_base(&at->function, &op))
		return false;
	if (is_register(&op, &reg)) {
		*ret = offset - DP_FP_CFA;
		return reg == DP_REG_FP && at->is_entry;
	}
	*ret = offset;
	return op.atom == DW_OP_call_frame_cfa;
}

static int set_register(struct typed_place *p, int reg)
{
	if (reg < 0 || reg >= DP_REG_PC) {
		snprintf(p->why, PARAMETER_WHY_SIZE, IN_FLOAT_REGISTER);
		return -EINVAL;
	}
	p->how.reg = (__u8)reg;
	return 0;
}

/* Is it an offset from a register, which has the same value when the function is entered? */
static bool is_based(const Dwarf_Op *op, bool is_exact)
{
	int reg = op->atom - DW_OP_breg0;

	return reg >= 0 && reg <= 31 && (is_exact || calling_convention_has_register(reg));
}

/* Memory at an offset from the CFA. False: it is not known where that is, or nothing is there yet. */
static bool set_behind_cfa(struct typed_place *p, const struct code_place *at, int64_t offset)
{
	if (at->cfa_reg < 0)
		return false;
	p->how.reg = (__u8)at->cfa_reg;
	p->how.add = at->cfa_offset + offset;
	return offset >= 0 || !at->is_entry; /* below, there is only the function's own */
}

/* Memory at an offset from a register, as it is at the place. False: it is not. */
static bool set_memory(struct typed_place *p, struct code_place *at, const Dwarf_Op *op,
		       bool is_exact)
{
	int64_t offset = (int64_t)op->number, behind_cfa = 0;
	int reg;

	p->is_address = true;
	if (op->atom == DW_OP_call_frame_cfa ||
	    (op->atom == DW_OP_fbreg && cfa_distance(at, offset, &behind_cfa)))
		return set_behind_cfa(p, at, behind_cfa);
	p->how.add = offset;
	if (is_exact && op->atom == DW_OP_fbreg && frame_register(&at->function, &reg))
		return set_register(p, reg) == 0;
	return is_based(op, is_exact) && set_register(p, op->atom - DW_OP_breg0) == 0;
}

/* Memory whose address is in memory, as that of an object which is passed by a pointer on the stack. */
static bool set_address(struct typed_place *p, struct code_place *at, const Dwarf_Op ops[2],
			bool is_exact)
{
	if (ops[1].atom != DW_OP_deref || !set_memory(p, at, &ops[0], is_exact))
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
	/* What is converted to a float is not the register's value. */
	if (n < 2 || !is_based(&ops[0], is_exact) || ops[n - 1].atom != DW_OP_stack_value ||
	    !only_narrows(ops + 1, n - 2) || type_is_float(&p->type))
		return false;
	p->how.add = (__s64)ops[0].number;
	return set_register(p, ops[0].atom - DW_OP_breg0) == 0;
}

/* Does a register get its value in the function? Of those that are not for integers, nothing is read. */
static bool is_set_behind(int reg)
{
	return reg >= 0 && reg < DP_REG_PC && !calling_convention_has_register(reg);
}

/*
 * The location of a value, or of a piece of one. One that is not exact may hold only behind the prologue. 0,
 * -ENOENT: where that is at the place is not known, or -EINVAL, explained.
 */
static int set_part(struct typed_place *p, struct code_place *at, const Dwarf_Op *ops, size_t n,
		    bool is_exact)
{
	const struct typed_place before = *p;
	int reg;

	if (n == 1 && is_register(&ops[0], &reg) && (is_exact || !is_set_behind(reg)))
		return set_register(p, reg);
	if (n == 1 && set_memory(p, at, &ops[0], is_exact))
		return 0;
	*p = before;
	if (n == 2 && set_address(p, at, ops, is_exact))
		return 0;
	*p = before;
	if (set_sum(p, ops, n, is_exact))
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

/* Errors as above. If it is exact, some pieces may be nowhere. */
static int set_pieces(struct typed_place *p, struct code_place *at, const Dwarf_Op *ops, size_t n,
		      bool is_exact)
{
	uint64_t offset = 0;
	bool lacks_some = false;

	for (size_t i = 0, length; (length = piece_length(ops + i, n - i)) > 0; i += length) {
		struct typed_place piece = { .why = p->why };
		const Dwarf_Op *end = &ops[i + length - 1];

		if (end->atom == DW_OP_bit_piece)
			return -ENOENT;
		if (length == 1 || set_part(&piece, at, ops + i, length - 1, is_exact) < 0)
			lacks_some = true;
		else if (!typed_place_add(p, offset, &piece))
			return -ENOENT;
		offset += end->number;
	}
	p->why[0] = '\0';
	return p->n_pieces > 0 && (is_exact || !lacks_some) ? 0 : -ENOENT;
}

/* An object in a register is a piece of its own, for its first member. */
static int set_whole(struct typed_place *p, struct code_place *at, Dwarf_Die *variable,
		     const Dwarf_Op *ops, size_t n, bool is_exact)
{
	int err = set_part(p, at, ops, n, is_exact);
	struct typed_place piece = *p;
	Dwarf_Die type;

	if (err < 0 || p->is_address || !type_of(variable, &type) || !type_is_struct(&type))
		return err;
	p->how = (struct dp_argument){ 0 };
	return typed_place_add(p, 0, &piece) ? 0 : -ENOENT;
}

static bool set_constant(struct typed_place *p, Dwarf_Die *variable)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	/* Compilers write negative ones as DW_FORM_sdata, and others in as few bytes as they need. */
	if (dwarf_formudata(dwarf_attr_integrate(variable, DW_AT_const_value, &attribute),
			    &value) != 0)
		return false;
	p->how.base = DP_BASE_CONSTANT;
	p->how.add = (__s64)value;
	return true;
}

static int fail(struct typed_place *p, const char *why, const struct code_place *at)
{
	snprintf(p->why, PARAMETER_WHY_SIZE, "%s %s", why,
		 at->is_entry ? "when the function is entered" : "at that place");
	return -EINVAL;
}

/* It is not where the function is entered what it will be: floats are passed in registers that are not read. */
static int fail_unknown(struct typed_place *p, Dwarf_Die *variable, const struct code_place *at)
{
	Dwarf_Die type;

	if (!at->is_entry || !type_of(variable, &type) || !type_is_float(&type))
		return fail(p, "it is not known where it is", at);
	snprintf(p->why, PARAMETER_WHY_SIZE,
		 IN_FLOAT_REGISTER "; at a line behind, it may be in memory");
	return -EINVAL;
}

static const char *producer_of(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Die unit;

	if (!dwarf_diecu(function, &unit, NULL, NULL))
		return NULL;
	return dwarf_formstring(dwarf_attr(&unit, DW_AT_producer, &attribute));
}

/*
 * LLVM's lists begin behind the instructions that save registers (DebugHandlerBase.cpp, beginFunction()).
 * Functions that other files may call are called by the convention. GCC's lists begin where functions do, and
 * its copies of such functions take other parameters.
 */
static bool begins_late(Dwarf_Die *function, Dwarf_Die *parameter)
{
	const char *producer = producer_of(function);
	Dwarf_Attribute attribute;
	Dwarf_Block block;
	bool is_external = false;

	dwarf_formflag(dwarf_attr_integrate(function, DW_AT_external, &attribute), &is_external);
	return is_external && producer && !strstr(producer, "GNU") &&
	       dwarf_attr(parameter, DW_AT_location, &attribute) &&
	       dwarf_formblock(&attribute, &block) != 0;
}

/* The location at an address: at least one operation. False: there is none. */
static bool find_location(Dwarf_Die *variable, uint64_t address, Dwarf_Attribute *ret,
			  Dwarf_Op **ret_ops, size_t *ret_n)
{
	if (!dwarf_attr(variable, DW_AT_location, ret))
		return false;
	accept_block(ret);
	return dwarf_getlocation_addr(ret, address, ret_ops, ret_n, 1) == 1 && *ret_n > 0;
}

int location_place(struct code_place *at, Dwarf_Die *variable, struct typed_place *p)
{
	const struct typed_place before = *p;
	Dwarf_Attribute attribute;
	Dwarf_Block block;
	bool is_list, is_exact;
	size_t n = 0;
	Dwarf_Op *ops;
	int err;

	if (set_constant(p, variable))
		return 0;
	if (!find_location(variable, at->address, &attribute, &ops, &n) ||
	    ops[0].atom == DW_OP_GNU_parameter_ref /* only its caller knows it */) {
		if (at->is_entry && begins_late(&at->function, variable) &&
		    calling_convention_parameter(&at->function, at->address, variable, p))
			return 0;
		return fail(p, "optimized out: it is nowhere", at);
	}
	is_list = dwarf_formblock(&attribute, &block) != 0;
	is_exact = is_list || !at->is_entry;
	err = piece_length(ops, n) > 0 ? set_pieces(p, at, ops, n, is_exact) :
					 set_whole(p, at, variable, ops, n, is_exact);
	if (err != -ENOENT)
		return err;
	*p = before;
	p->why[0] = '\0';
	if (!is_exact && calling_convention_parameter(&at->function, at->address, variable, p))
		return 0;
	return fail_unknown(p, variable, at);
}
