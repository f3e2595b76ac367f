// SPDX-License-Identifier: Apache-2.0
#include "cfi/expr.h"

#include <dwarf.h>
#include <stdbool.h>

#include "cfi/cursor.h"
#include "cfi/plt.h"
#include "cfi/row.h"

static const struct cfi_expr other = { .kind = CFI_EXPR_OTHER };

/* DW_OP_bregN offset, for a register that is tracked. */
static bool read_breg(struct cursor *c, uint8_t *ret_reg, int64_t *ret_offset)
{
	uint8_t op;

	if (cursor_u8(c, &op) != CFI_NONE || op < DW_OP_breg0 ||
	    op >= DW_OP_breg0 + CFI_N_REGISTERS)
		return false;
	*ret_reg = op - DW_OP_breg0;
	return cursor_sleb(c, ret_offset) == CFI_NONE;
}

/* Reads one byte: an operator, or a small operand. */
static bool read_op(struct cursor *c, uint8_t want)
{
	uint8_t op;

	return cursor_u8(c, &op) == CFI_NONE && op == want;
}

struct cfi_expr cfi_expr_classify(const uint8_t *expr, uint32_t size)
{
	struct cfi_expr e = { .kind = CFI_EXPR_ADDRESS };
	struct cursor c, start;
	uint64_t add;
	uint8_t op;

	cursor_init(&c, expr, 0, size);
	start = c;
	if (!read_breg(&c, &e.reg, &e.offset))
		return other;
	if (cursor_left(&c) == 0)
		return e;
	if (cursor_u8(&c, &op) != CFI_NONE || op != DW_OP_deref)
		return cfi_expr_plt(start);

	e.kind = CFI_EXPR_DEREF;
	if (cursor_left(&c) == 0)
		return e;
	if (!read_op(&c, DW_OP_plus_uconst) || cursor_uleb(&c, &add) != CFI_NONE ||
	    add > INT64_MAX || cursor_left(&c) > 0)
		return other;
	e.add = (int64_t)add;
	return e;
}

/* Instructions of the operators without operands. Instruction 0 is not one of them. */
static const uint8_t opcode_of[UINT8_MAX + 1] = {
	[DW_OP_drop] = CFI_OP_DROP, [DW_OP_swap] = CFI_OP_SWAP, [DW_OP_rot] = CFI_OP_ROT,
	[DW_OP_abs] = CFI_OP_ABS,   [DW_OP_neg] = CFI_OP_NEG,   [DW_OP_not] = CFI_OP_NOT,
	[DW_OP_plus] = CFI_OP_ADD,  [DW_OP_minus] = CFI_OP_SUB, [DW_OP_mul] = CFI_OP_MUL,
	[DW_OP_and] = CFI_OP_AND,   [DW_OP_or] = CFI_OP_OR,     [DW_OP_xor] = CFI_OP_XOR,
	[DW_OP_shl] = CFI_OP_SHL,   [DW_OP_shr] = CFI_OP_SHR,   [DW_OP_shra] = CFI_OP_SHRA,
	[DW_OP_eq] = CFI_OP_EQ,     [DW_OP_ge] = CFI_OP_GE,     [DW_OP_gt] = CFI_OP_GT,
	[DW_OP_le] = CFI_OP_LE,     [DW_OP_lt] = CFI_OP_LT,     [DW_OP_ne] = CFI_OP_NE,
};

struct compiler {
	struct cursor in;
	uint32_t depth; /* values on the stack */
	struct cfi_program *out;
};

/* The number of values that an instruction takes from the stack. */
static uint32_t values_needed(const struct cfi_op *op)
{
	if (op->code == CFI_OP_PICK)
		return op->arg + 1U;
	if (op->code < CFI_OP_PICK)
		return 0;
	if (op->code == CFI_OP_ROT)
		return 3;
	return op->code == CFI_OP_SWAP || op->code >= CFI_OP_ADD ? 2 : 1;
}

static enum cfi_reason put(struct compiler *c, struct cfi_op op)
{
	if (c->depth < values_needed(&op))
		return CFI_BAD_STACK;
	if (op.code <= CFI_OP_PICK)
		c->depth++;
	else if (op.code == CFI_OP_DROP || op.code >= CFI_OP_ADD)
		c->depth--;
	if (c->depth > CFI_MAX_VALUES)
		return CFI_BAD_STACK;
	if (c->out->n_ops == CFI_MAX_OPS)
		return CFI_LONG_EXPR;
	c->out->ops[c->out->n_ops++] = op;
	return CFI_NONE;
}

/* DW_OP_breg0 to DW_OP_bregx */
static enum cfi_reason compile_register(struct compiler *c, uint8_t op)
{
	struct cfi_op to = { .code = CFI_OP_REGISTER };
	uint64_t reg = op - DW_OP_breg0;
	enum cfi_reason r = CFI_NONE;

	if (op == DW_OP_bregx)
		r = cursor_uleb(&c->in, &reg);
	if (r == CFI_NONE && reg >= CFI_N_REGISTERS)
		r = CFI_BAD_OPERATOR;
	if (r == CFI_NONE)
		r = cursor_sleb(&c->in, &to.value);
	if (r != CFI_NONE)
		return r;
	to.arg = (uint8_t)reg;
	return put(c, to);
}

/* DW_OP_const1u to DW_OP_consts, numbered in the order 1u, 1s, 2u, 2s, and so on. */
static enum cfi_reason compile_constant(struct compiler *c, uint8_t op)
{
	unsigned int bits = 8U << ((op - DW_OP_const1u) / 2);
	bool is_signed = (op - DW_OP_const1u) % 2;
	struct cfi_op to = { .code = CFI_OP_CONSTANT };
	uint64_t value = 0;
	const uint8_t *bytes;
	enum cfi_reason r;

	if (op == DW_OP_consts) {
		r = cursor_sleb(&c->in, &to.value);
		return r == CFI_NONE ? put(c, to) : r;
	}
	if (op == DW_OP_constu) {
		r = cursor_uleb(&c->in, &value);
	} else {
		r = cursor_bytes(&c->in, bits / 8, &bytes);
		for (unsigned int i = 0; r == CFI_NONE && i < bits / 8; i++)
			value |= (uint64_t)bytes[i] << 8 * i;
		if (is_signed && bits < 64 && value >> (bits - 1))
			value |= ~UINT64_C(0) << bits;
	}
	to.value = (int64_t)value;
	return r == CFI_NONE ? put(c, to) : r;
}

static enum cfi_reason compile_deref(struct compiler *c, uint8_t size)
{
	if (size == 0 || size > 8)
		return CFI_BAD_OPERATOR;
	return put(c, (struct cfi_op){ CFI_OP_DEREF, size, 0 });
}

static enum cfi_reason compile_add(struct compiler *c)
{
	uint64_t value = 0;
	enum cfi_reason r = cursor_uleb(&c->in, &value);

	return r == CFI_NONE ? put(c, (struct cfi_op){ CFI_OP_ADD_CONSTANT, 0, (int64_t)value }) :
			       r;
}

static enum cfi_reason compile_pick(struct compiler *c, uint8_t depth)
{
	return put(c, (struct cfi_op){ CFI_OP_PICK, depth, 0 });
}

/* Compile one operator. */
static enum cfi_reason compile(struct compiler *c)
{
	enum cfi_reason r;
	uint8_t op, arg = 0;

	r = cursor_u8(&c->in, &op);
	if (r == CFI_NONE && (op == DW_OP_deref_size || op == DW_OP_pick))
		r = cursor_u8(&c->in, &arg);
	if (r != CFI_NONE)
		return r;
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		return put(c, (struct cfi_op){ CFI_OP_CONSTANT, 0, op - DW_OP_lit0 });
	if ((op >= DW_OP_breg0 && op <= DW_OP_breg31) || op == DW_OP_bregx)
		return compile_register(c, op);
	if (op >= DW_OP_const1u && op <= DW_OP_consts)
		return compile_constant(c, op);
	switch (op) {
	case DW_OP_nop:
		return CFI_NONE;
	case DW_OP_dup:
		return compile_pick(c, 0);
	case DW_OP_over:
		return compile_pick(c, 1);
	case DW_OP_pick:
		return compile_pick(c, arg);
	case DW_OP_deref:
		return compile_deref(c, 8);
	case DW_OP_deref_size:
		return compile_deref(c, arg);
	case DW_OP_plus_uconst:
		return compile_add(c);
	}
	if (opcode_of[op] == 0)
		return CFI_BAD_OPERATOR;
	return put(c, (struct cfi_op){ .code = opcode_of[op] });
}

enum cfi_reason cfi_expr_compile(const uint8_t *expr, uint32_t size, uint32_t depth,
				 struct cfi_program *ret)
{
	struct compiler c = { .depth = depth, .out = ret };
	enum cfi_reason r = CFI_NONE;

	ret->n_ops = 0;
	cursor_init(&c.in, expr, 0, size);
	while (r == CFI_NONE && cursor_left(&c.in) > 0)
		r = compile(&c);
	if (r == CFI_NONE && c.depth == 0)
		r = CFI_BAD_STACK;
	return r;
}
