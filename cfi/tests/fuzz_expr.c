// SPDX-License-Identifier: Apache-2.0
/*
 * An expression's classification and its compiled program must have the value of the expression,
 * whatever is in registers and memory. Input: the expression.
 */
#include <dwarf.h>

#include "cfi/expr.h"
#include "cfi/tests/fuzz.h"

#define STACK_SIZE 64

/* A register and a word of memory of a synthetic machine, different in each round. */
static uint64_t mixed(uint64_t x, int round)
{
	x = (x + (uint64_t)round) * 0x9e3779b97f4a7c15;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9;
	return x ^ x >> 32;
}

static uint64_t machine_register(uint8_t reg, int round)
{
	return mixed(reg + UINT64_C(0x1000), round);
}

static uint64_t machine_memory(uint64_t address, int round)
{
	return mixed(address, round + 100);
}

/* A stack of values (DWARF 5 §2.5.1). */
struct stack {
	uint64_t value[STACK_SIZE];
	size_t n;
};

static bool push(struct stack *s, uint64_t value)
{
	if (s->n == STACK_SIZE)
		return false;
	s->value[s->n++] = value;
	return true;
}

/* Operators of two values. */
static bool binary(uint8_t op, uint64_t below, uint64_t top, uint64_t *ret)
{
	int64_t a = (int64_t)below, b = (int64_t)top;

	switch (op) {
#define CASE(name, value)                                                                          \
	case DW_OP_##name:                                                                         \
		*ret = (uint64_t)(value);                                                          \
		return true;
		CASE(and, below & top)
		CASE(or, below | top)
		CASE(xor, below ^ top)
		CASE(plus, below + top)
		CASE(minus, below - top)
		CASE(mul, below * top)
		CASE(shl, top < 64 ? below << top : 0)
		CASE(shr, top < 64 ? below >> top : 0)
		CASE(shra, top < 64 ? a >> top : a < 0 ? -1 : 0)
		CASE(eq, a == b)
		CASE(ne, a != b)
		CASE(ge, a >= b)
		CASE(gt, a > b)
		CASE(le, a <= b)
		CASE(lt, a < b)
#undef CASE
	default:
		return false;
	}
}

/* Operators that replace the topmost value. */
static bool unary(struct cursor *c, uint8_t op, uint64_t *top, int round)
{
	uint8_t bytes;
	uint64_t u;

	switch (op) {
	case DW_OP_deref:
		*top = machine_memory(*top, round);
		return true;
	case DW_OP_deref_size:
		if (cursor_u8(c, &bytes) != CFI_NONE || bytes == 0 || bytes > 8)
			return false;
		*top = machine_memory(*top, round) & ~UINT64_C(0) >> (64 - 8 * bytes);
		return true;
	case DW_OP_plus_uconst:
		if (cursor_uleb(c, &u) != CFI_NONE)
			return false;
		*top += u;
		return true;
	case DW_OP_abs:
		*top = (int64_t)*top < 0 ? 0 - *top : *top;
		return true;
	case DW_OP_neg:
		*top = 0 - *top;
		return true;
	case DW_OP_not:
		*top = ~*top;
		return true;
	default:
		return false;
	}
}

static bool constant(struct cursor *c, uint8_t op, uint64_t *ret)
{
	int64_t i = 0;

	switch (op) {
#define CASE(name, type, read)                                                                     \
	case DW_OP_##name: {                                                                       \
		type value = 0;                                                                    \
		if (cursor_##read(c, &value) != CFI_NONE)                                          \
			return false;                                                              \
		*ret = (uint64_t)value;                                                            \
		return true;                                                                       \
	}
		CASE(const1u, uint8_t, u8)
		CASE(const2u, uint16_t, u16)
		CASE(const4u, uint32_t, u32)
		CASE(const8u, uint64_t, u64)
		CASE(const8s, uint64_t, u64)
		CASE(constu, uint64_t, uleb)
		CASE(consts, int64_t, sleb)
#undef CASE
	case DW_OP_const1s:
		i = 8;
		break;
	case DW_OP_const2s:
		i = 16;
		break;
	case DW_OP_const4s:
		i = 32;
		break;
	default:
		return false;
	}
	*ret = 0;
	for (int shift = 0; shift < i; shift += 8) {
		uint8_t byte;

		if (cursor_u8(c, &byte) != CFI_NONE)
			return false;
		*ret |= (uint64_t)byte << shift;
	}
	*ret = (*ret ^ UINT64_C(1) << (i - 1)) - (UINT64_C(1) << (i - 1));
	return true;
}

/* Operators that move values. */
static bool shuffle(struct stack *s, struct cursor *c, uint8_t op)
{
	uint64_t *end = s->value + s->n, top;
	uint8_t depth = op == DW_OP_over;

	switch (op) {
	case DW_OP_drop:
		s->n -= s->n > 0;
		return true;
	case DW_OP_pick:
		if (cursor_u8(c, &depth) != CFI_NONE)
			return false;
		/* fall through */
	case DW_OP_dup:
	case DW_OP_over:
		return depth < s->n && push(s, end[-1 - depth]);
	case DW_OP_swap:
	case DW_OP_rot:
		if (s->n < (op == DW_OP_rot ? 3 : 2))
			return false;
		top = end[-1];
		end[-1] = end[-2];
		end[-2] = op == DW_OP_rot ? end[-3] : top;
		if (op == DW_OP_rot)
			end[-3] = top;
		return true;
	default:
		return false;
	}
}

static bool execute(struct stack *s, struct cursor *c, int round)
{
	uint8_t op = *c->pos++;
	uint64_t u = op - DW_OP_breg0;
	int64_t i;

	if (op == DW_OP_nop)
		return true;
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		return push(s, op - DW_OP_lit0);
	if (op == DW_OP_bregx && cursor_uleb(c, &u) != CFI_NONE)
		return false;
	if ((op >= DW_OP_breg0 && op <= DW_OP_breg16) || op == DW_OP_bregx)
		return u < CFI_N_REGISTERS && cursor_sleb(c, &i) == CFI_NONE &&
		       push(s, machine_register((uint8_t)u, round) + (uint64_t)i);
	if (constant(c, op, &u))
		return push(s, u);
	if (shuffle(s, c, op) || (s->n > 0 && unary(c, op, &s->value[s->n - 1], round)))
		return true;
	if (s->n < 2 || !binary(op, s->value[s->n - 2], s->value[s->n - 1], &u))
		return false;
	s->n--;
	s->value[s->n - 1] = u;
	return true;
}

static bool evaluate(const uint8_t *expr, size_t size, int round, struct stack *s, uint64_t *ret)
{
	struct cursor c;

	cursor_init(&c, expr, 0, size);
	while (cursor_left(&c) > 0)
		if (!execute(s, &c, round))
			return false;
	if (s->n == 0)
		return false;
	*ret = s->value[s->n - 1];
	return true;
}

/* The DWARF operator of an instruction without operands. */
static const uint8_t operator_of[CFI_N_OPS] = {
	[CFI_OP_DROP] = DW_OP_drop, [CFI_OP_SWAP] = DW_OP_swap, [CFI_OP_ROT] = DW_OP_rot,
	[CFI_OP_ABS] = DW_OP_abs,   [CFI_OP_NEG] = DW_OP_neg,   [CFI_OP_NOT] = DW_OP_not,
	[CFI_OP_ADD] = DW_OP_plus,  [CFI_OP_SUB] = DW_OP_minus, [CFI_OP_MUL] = DW_OP_mul,
	[CFI_OP_AND] = DW_OP_and,   [CFI_OP_OR] = DW_OP_or,     [CFI_OP_XOR] = DW_OP_xor,
	[CFI_OP_SHL] = DW_OP_shl,   [CFI_OP_SHR] = DW_OP_shr,   [CFI_OP_SHRA] = DW_OP_shra,
	[CFI_OP_EQ] = DW_OP_eq,     [CFI_OP_GE] = DW_OP_ge,     [CFI_OP_GT] = DW_OP_gt,
	[CFI_OP_LE] = DW_OP_le,     [CFI_OP_LT] = DW_OP_lt,     [CFI_OP_NE] = DW_OP_ne,
};

/* Run one instruction, as expr.h describes it. */
static void run(struct stack *s, const struct cfi_op *op, int round)
{
	uint8_t operator[2] = { 0, op->arg };
	struct cursor c;

	EXPECT(op->code < CFI_N_OPS);
	switch (op->code) {
	case CFI_OP_REGISTER:
		EXPECT(op->arg < CFI_N_REGISTERS);
		EXPECT(push(s, machine_register(op->arg, round) + (uint64_t)op->value));
		break;
	case CFI_OP_CONSTANT:
		EXPECT(push(s, (uint64_t)op->value));
		break;
	case CFI_OP_ADD_CONSTANT:
		EXPECT(s->n > 0);
		s->value[s->n - 1] += (uint64_t)op->value;
		break;
	case CFI_OP_PICK:
	case CFI_OP_DEREF:
		operator[0] = op->code == CFI_OP_PICK ? DW_OP_pick : DW_OP_deref_size;
		cursor_init(&c, operator, 0, 2);
		EXPECT(execute(s, &c, round));
		break;
	default:
		operator[0] = operator_of[op->code];
		cursor_init(&c, operator, 0, 1);
		EXPECT(execute(s, &c, round));
	}
	EXPECT(s->n > 0 ? s->n <= CFI_MAX_VALUES : op->code == CFI_OP_DROP);
}

static void check_compiled(const uint8_t *data, size_t size, uint32_t depth)
{
	struct cfi_program program;
	enum cfi_reason r = cfi_expr_compile(data, (uint32_t)size, depth, &program);

	EXPECT(r < CFI_N_REASONS);
	EXPECT(program.n_ops <= CFI_MAX_OPS);
	for (int round = 0; r == CFI_NONE && round < 4; round++) {
		struct stack dwarf = { .n = 0 }, compiled = { .n = 0 };
		uint64_t value;

		for (uint32_t i = 0; i < depth; i++) {
			EXPECT(push(&dwarf, mixed(i, round + 200)));
			EXPECT(push(&compiled, mixed(i, round + 200)));
		}
		for (uint32_t i = 0; i < program.n_ops; i++)
			run(&compiled, &program.ops[i], round);
		EXPECT(evaluate(data, size, round, &dwarf, &value));
		EXPECT(compiled.n == dwarf.n && compiled.value[compiled.n - 1] == value);
	}
}

/* The value by expr.h's definitions of the kinds. */
static uint64_t classified(const struct cfi_expr *e, int round)
{
	uint64_t base = machine_register(e->reg, round) + (uint64_t)e->offset;

	switch (e->kind) {
	case CFI_EXPR_ADDRESS:
		return base;
	case CFI_EXPR_DEREF:
		return machine_memory(base, round) + (uint64_t)e->add;
	default:
		return base + ((int64_t)(machine_register(CFI_RIP, round) & 15) >= e->add ? 8 : 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_expr e = cfi_expr_classify(data, (uint32_t)size);
	uint64_t value;

	check_compiled(data, size, 0);
	check_compiled(data, size, 1);
	EXPECT(e.kind <= CFI_EXPR_OTHER);
	if (e.kind == CFI_EXPR_OTHER)
		return 0;
	EXPECT(e.reg < CFI_N_REGISTERS);
	/* As many rounds as make the lowest bits of rip take every value a few times. */
	for (int round = 0; round < 64; round++) {
		struct stack s = { .n = 0 };

		EXPECT(evaluate(data, size, round, &s, &value));
		EXPECT(value == classified(&e, round));
	}
	return 0;
}
