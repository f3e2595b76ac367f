// SPDX-License-Identifier: Apache-2.0
/*
 * What an expression is recognised as has the value that the expression has,
 * whatever is in registers and memory. Input: the expression.
 */
#include <dwarf.h>

#include "expr.h"
#include "fuzz.h"

#define STACK_SIZE 64

/* A register and a word of memory of a made-up machine, different in each of several rounds. */
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
static bool binary(struct stack *s, uint8_t op)
{
	uint64_t top, *second;

	if (s->n < 2)
		return false;
	top = s->value[--s->n];
	second = &s->value[s->n - 1];
	switch (op) {
	case DW_OP_and:
		*second &= top;
		return true;
	case DW_OP_plus:
		*second += top;
		return true;
	case DW_OP_shl:
		*second = top < 64 ? *second << top : 0;
		return true;
	case DW_OP_ge:
		*second = (int64_t)*second >= (int64_t)top;
		return true;
	default:
		return false;
	}
}

static bool execute(struct stack *s, struct cursor *c, int round)
{
	uint8_t op = *c->pos++;
	uint64_t u;
	int64_t i;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		return push(s, op - DW_OP_lit0);
	if (op >= DW_OP_breg0 && op <= DW_OP_breg16)
		return cursor_sleb(c, &i) == CFI_NONE &&
		       push(s, machine_register(op - DW_OP_breg0, round) + (uint64_t)i);
	switch (op) {
	case DW_OP_deref:
		if (s->n == 0)
			return false;
		s->value[s->n - 1] = machine_memory(s->value[s->n - 1], round);
		return true;
	case DW_OP_plus_uconst:
		if (s->n == 0 || cursor_uleb(c, &u) != CFI_NONE)
			return false;
		s->value[s->n - 1] += u;
		return true;
	default:
		return binary(s, op);
	}
}

static bool evaluate(const uint8_t *expr, size_t size, int round, uint64_t *ret)
{
	struct stack s = { .n = 0 };
	struct cursor c;

	cursor_init(&c, expr, 0, size);
	while (cursor_left(&c) > 0)
		if (!execute(&s, &c, round))
			return false;
	if (s.n == 0)
		return false;
	*ret = s.value[s.n - 1];
	return true;
}

/* What expr.h says that the kinds mean. */
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

	EXPECT(e.kind <= CFI_EXPR_OTHER);
	if (e.kind == CFI_EXPR_OTHER)
		return 0;
	EXPECT(e.reg < CFI_N_REGISTERS);
	/* As many rounds as make the lowest bits of rip take every value a few times. */
	for (int round = 0; round < 64; round++) {
		EXPECT(evaluate(data, size, round, &value));
		EXPECT(value == classified(&e, round));
	}
	return 0;
}
