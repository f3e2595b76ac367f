/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_PROGRAM_H
#define DP_BPF_PROGRAM_H

/*
 * Programs: rules that are not of the common kinds (struct dp_op). Their maker (cfi_expr_compile())
 * ensures that no instruction lacks an operand or room for its result.
 */

#include "bpf/frame.h"

/* The program's value `below` places below the top. */
static __always_inline __u64 *walk_value(struct walk *w, __u32 below)
{
	return &w->program.values[port_index(w->program.n_values - 1 - below, DP_MAX_VALUES)];
}

/* Finds the bias of the file that the current frame is in. */
static __always_inline enum dp_outcome walk_bias(struct walk *w, __u64 *ret)
{
	const struct dp_mapping *m = NULL;

	if (w->at.mapping != 0)
		m = port_pool(w, dp_mapping_cell(w->in.snapshot_cell, w->at.mapping));
	if (!m)
		return DP_REGISTER_LOST;
	*ret = m->bias;
	return DP_WALKING;
}

/* enum dp_register or enum dp_value_register */
static __always_inline enum dp_outcome walk_value_register(struct walk *w, __u32 reg, __u64 *ret)
{
	if (reg == DP_BIAS)
		return walk_bias(w, ret);
	if (reg == DP_LEFT_SP) {
		*ret = w->at.left_sp;
		return DP_WALKING;
	}
	if (reg != DP_THREAD_BASE)
		return walk_register(w, reg, ret);
	*ret = port_thread_base(w);
	return *ret == 0 ? DP_REGISTER_LOST : DP_WALKING;
}

static __always_inline enum dp_outcome walk_op_push(struct walk *w, const struct dp_op *op)
{
	enum dp_outcome outcome = DP_WALKING;
	__u64 value = 0;

	if (op->code == DP_OP_REGISTER)
		outcome = walk_value_register(w, op->arg, &value);
	if (op->code == DP_OP_PICK)
		value = *walk_value(w, op->arg);
	else
		value += (__s64)op->value;
	w->program.n_values++;
	*walk_value(w, 0) = value;
	return outcome;
}

static __always_inline enum dp_outcome walk_op_move(struct walk *w, __u32 code)
{
	__u64 top = *walk_value(w, 0);

	if (code == DP_OP_DROP) {
		w->program.n_values--;
		return DP_WALKING;
	}
	*walk_value(w, 0) = *walk_value(w, 1);
	if (code == DP_OP_SWAP) {
		*walk_value(w, 1) = top;
	} else {
		*walk_value(w, 1) = *walk_value(w, 2);
		*walk_value(w, 2) = top;
	}
	return DP_WALKING;
}

static __always_inline enum dp_outcome walk_op_deref(struct walk *w, __u32 size, __u64 *top)
{
	__u64 value = 0;
	int err;

	if (size < sizeof(value) || w->program.is_elsewhere)
		w->at.cost += WALK_COST_READ;
	if (size < sizeof(value))
		err = port_read_user(w, &value, size & 7, *top);
	else if (w->program.is_elsewhere)
		err = port_read_user(w, &value, sizeof(value), *top);
	else
		err = walk_read(w, *top, &value);
	if (err < 0) {
		w->at.cost += WALK_COST_FAULT;
		w->stack.fault = *top;
		return DP_READ_FAULT;
	}
	*top = value;
	return DP_WALKING;
}

static __always_inline enum dp_outcome walk_op_unary(struct walk *w, const struct dp_op *op)
{
	__u64 *top = walk_value(w, 0);

	switch (op->code) {
	case DP_OP_DEREF:
		return walk_op_deref(w, op->arg, top);
	case DP_OP_ADD_CONSTANT:
		*top += (__s64)op->value;
		break;
	case DP_OP_ABS:
		*top = (__s64)*top < 0 ? -*top : *top;
		break;
	case DP_OP_NEG:
		*top = -*top;
		break;
	case DP_OP_NOT:
		*top = ~*top;
		break;
	}
	return DP_WALKING;
}

static __always_inline __u64 walk_op_compare(__u32 code, __s64 a, __s64 b)
{
	switch (code) {
	case DP_OP_EQ:
		return a == b;
	case DP_OP_GE:
		return a >= b;
	case DP_OP_GT:
		return a > b;
	case DP_OP_LE:
		return a <= b;
	case DP_OP_LT:
		return a < b;
	}
	return a != b;
}

/*
 * A shift by 64 or more is done as one by 63 and one more bit: no bits, or only copies of the sign,
 * are left.
 */
static __always_inline __u64 walk_op_shift(__u32 code, __u64 a, __u64 b)
{
	__u64 some = b < 63 ? b : 63, more = b > 63;

	if (code == DP_OP_SHL)
		return a << some << more;
	return code == DP_OP_SHR ? a >> some >> more : (__u64)((__s64)a >> some);
}

static __always_inline enum dp_outcome walk_op_binary(struct walk *w, __u32 code)
{
	__u64 b = *walk_value(w, 0), a = *walk_value(w, 1), value;

	switch (code) {
	case DP_OP_ADD:
		value = a + b;
		break;
	case DP_OP_SUB:
		value = a - b;
		break;
	case DP_OP_MUL:
		value = a * b;
		break;
	case DP_OP_AND:
		value = a & b;
		break;
	case DP_OP_OR:
		value = a | b;
		break;
	case DP_OP_XOR:
		value = a ^ b;
		break;
	default:
		value = code <= DP_OP_SHRA ? walk_op_shift(code, a, b) :
					     walk_op_compare(code, (__s64)a, (__s64)b);
	}
	w->program.n_values--;
	*walk_value(w, 0) = value;
	return DP_WALKING;
}

/* Runs the next instruction of the program. Returns 1 to end it. */
static long walk_program_step(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	const struct dp_op *op = port_pool(w, w->program.cell + 1 + i);
	enum dp_outcome outcome = DP_UNSUPPORTED_RULE;

	if (op && op->code <= DP_OP_PICK)
		outcome = walk_op_push(w, op);
	else if (op && op->code <= DP_OP_ROT)
		outcome = walk_op_move(w, op->code);
	else if (op && op->code <= DP_OP_NOT)
		outcome = walk_op_unary(w, op);
	else if (op && op->code < DP_N_OPS)
		outcome = walk_op_binary(w, op->code);
	w->program.outcome = outcome;
	return outcome != DP_WALKING;
}

/*
 * Runs the program at a cell of the pool, on the values already in w->program.values. The result is
 * walk_value(w, 0).
 */
PORT_GLOBAL int walk_program(struct walk *w, __u32 cell)
{
	const __u64 *n_ops = port_pool(w, cell);
	struct walk_ref ref = { w };

	if (!w || !n_ops || *n_ops > DP_MAX_OPS)
		return DP_UNSUPPORTED_RULE;
	w->program.cell = cell;
	w->program.outcome = DP_WALKING;
	w->at.cost += WALK_COST_PROGRAM + (__u32)*n_ops;
	port_loop((__u32)*n_ops, walk_program_step, &ref);
	return (int)w->program.outcome;
}

#endif
