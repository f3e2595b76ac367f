// SPDX-License-Identifier: Apache-2.0
/* Walks through frames whose rules are programs. */
#include "bpf/tests/world_fixture.h"

TestSuite(program, .init = begin, .fini = end);

#define PROGRAM(n, ...)                                                                            \
	world_program(w, n, (const struct dp_op[]){ __VA_ARGS__ },                                 \
		      sizeof((const struct dp_op[]){ __VA_ARGS__ }) / sizeof(struct dp_op))

static void expression_cfa(int n, int program)
{
	world_rule(w, n, WORLD_PROGRAM(program))->cfa = DP_CFA_EXPRESSION;
	world_renumber(w, w->walk.in.snapshot + 1);
}

/* OpenSSL's bn_mul_mont: CFA = *(sp + 8 + r9 * 8) + 8 */
Test(program, computes_a_cfa)
{
	PROGRAM(0, { DP_OP_REGISTER, DP_REG_SP, 0, 8 }, { DP_OP_REGISTER, DP_R9, 0, 0 },
		{ DP_OP_CONSTANT, 0, 0, 8 }, { .code = DP_OP_MUL }, { .code = DP_OP_ADD },
		{ DP_OP_DEREF, 8, 0, 0 }, { DP_OP_ADD_CONSTANT, 0, 0, 8 });
	expression_cfa(1, 0);
	w->walk.in.regs.reg[DP_R9] = 4;
	world_poke(w, sp + 8 + 32, sp + 0x100);
	world_poke(w, sp + 0x100, code(0));
	expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, 2);
	cr_assert(w->walk.at.sp == sp + 0x108);
	/* A caller's r9 is lost. */
	world_poke(w, sp - 8, code(1));
	expect_outcome(world_walk(w, code(2), sp - 16, 0), DP_REGISTER_LOST, 2);
}

/* Go's systemstack(): the caller is on another stack, which may be anywhere. */
Test(program, goes_to_another_stack)
{
	PROGRAM(0, { DP_OP_REGISTER, DP_R14, 0, 8 }, { DP_OP_DEREF, 8, 0, 0 });
	expression_cfa(1, 0);
	world_rule(w, 1, WORLD_PROGRAM(0))->cfa = DP_CFA_SWITCH;
	w->walk.in.regs.reg[DP_R14] = sp + 0x40;
	world_poke(w, sp + 8, code(1));
	world_poke(w, sp + 0x48, sp - 0x100);
	world_poke(w, sp - 0x108, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
	cr_assert(w->walk.at.sp == sp - 0x100);
	/* The way there is not known, or leads nowhere. */
	world_poke(w, sp + 0x48, 0);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_REGISTER_LOST, 2);
	w->walk.in.regs.reg[DP_R14] = 0x1234;
	expect_outcome(world_walk(w, code(2), sp, 0), DP_REGISTER_LOST, 2);
	/* The other stack does not exist. */
	w->walk.in.regs.reg[DP_R14] = sp + 0x40;
	world_poke(w, sp + 0x48, 0x5000);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_READ_FAULT, 2);
}

/* The way there or back is lost; a function that is called again may find another one. */
Test(program, says_where_a_goroutine_was_left)
{
	PROGRAM(0, { DP_OP_REGISTER, DP_REG_SP, 0, 16 });
	PROGRAM(1, { .code = DP_OP_DROP }, { DP_OP_CONSTANT, 0, 0, 0 });
	expression_cfa(1, 0);
	world_rule(w, 1, WORLD_PROGRAM(0))->cfa = DP_CFA_SWITCH;
	world_rules(w)[2].ra = (struct dp_where){ DP_WHERE_VALUE, 0, 0, WORLD_PROGRAM(1) };
	expect_outcome(world_walk(w, code(1), sp, 0), DP_GOROUTINE_LEFT, 1);
}

/* Thread-local storage, an address in the file, and the stack pointer before a switch. */
Test(program, knows_more_than_registers)
{
	struct dp_rule *rule = world_rule(w, 1, WORLD_PROGRAM(0));

	/* CFA = *(fs base - 8) */
	PROGRAM(0, { DP_OP_REGISTER, DP_THREAD_BASE, 0, -8 }, { DP_OP_DEREF, 8, 0, 0 });
	rule->cfa = DP_CFA_SWITCH;
	world_renumber(w, w->walk.in.snapshot + 1);
	w->port.thread_base = sp + 0x88;
	world_poke(w, sp + 8, code(1));
	world_poke(w, sp + 0x80, sp + 0x100);
	world_poke(w, sp + 0xf8, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
	cr_assert(w->walk.at.sp == sp + 0x100);
	/* Without a known base, nothing is known. */
	w->port.thread_base = 0;
	expect_outcome(world_walk(w, code(2), sp, 0), DP_REGISTER_LOST, 2);

	/* The address is the process's, in either mapping of the file. */
	PROGRAM(0, { DP_OP_REGISTER, DP_BIAS, 0, 0x20 }, { DP_OP_REGISTER, DP_REG_PC, 0, 0 },
		{ .code = DP_OP_SUB }, { .code = DP_OP_ABS }, { DP_OP_REGISTER, DP_REG_SP, 0, 0 },
		{ .code = DP_OP_ADD });
	world_poke(w, sp + 8, WORLD_LIBRARY + WORLD_FUNCTION_SIZE + 0x10);
	world_poke(w, sp + 16 + WORLD_FUNCTION_SIZE - 0x10 - 8, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);

	/*
	 * At first no stack has been switched; then this one has, at sp + 16, so that the CFA is 8
	 * more.
	 */
	PROGRAM(0, { DP_OP_REGISTER, DP_REG_SP, 0, 16 }, { DP_OP_CONSTANT, 0, 0, 8 },
		{ DP_OP_REGISTER, DP_LEFT_SP, 0, -16 }, { DP_OP_REGISTER, DP_REG_SP, 0, -32 },
		{ .code = DP_OP_EQ }, { .code = DP_OP_MUL }, { .code = DP_OP_ADD });
	world_poke(w, sp + 8, code(1));
	world_poke(w, sp + 16 + 8, code(1));
	world_poke(w, sp + 32 + 16, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 4);
	cr_assert(w->walk.at.sp == sp + 32 + 24);
}

/* sbcl: CFA = *fp + 16. And by a callee-saved register. */
Test(program, computes_a_cfa_in_a_caller)
{
	PROGRAM(0, { DP_OP_REGISTER, DP_REG_FP, 0, 0 }, { DP_OP_DEREF, 8, 0, 0 },
		{ DP_OP_CONSTANT, 0, 0, 16 }, { .code = DP_OP_ADD });
	PROGRAM(1, { DP_OP_REGISTER, DP_RBX, 0, 16 });
	expression_cfa(1, 0);
	world_poke(w, sp + 8, code(1));
	world_poke(w, sp + 0x40, sp + 0x80);
	world_poke(w, sp + 0x80 + 8, code(0));
	expect_outcome(world_walk(w, code(2), sp, sp + 0x40), DP_COMPLETE, 3);
	expression_cfa(1, 1);
	w->walk.in.regs.reg[DP_RBX] = sp + 0x80;
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
	/* rip is known in every frame. */
	PROGRAM(1, { DP_OP_REGISTER, DP_REG_PC, 0, 0 }, { DP_OP_REGISTER, DP_RBX, 0, 16 },
		{ DP_OP_REGISTER, DP_REG_PC, 0, 0 }, { .code = DP_OP_ADD }, { .code = DP_OP_SWAP },
		{ .code = DP_OP_SUB });
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
}

/* A register's program starts with the CFA. */
Test(program, computes_registers)
{
	struct dp_rule *rule = world_rule(w, 1, 16);

	PROGRAM(0, { DP_OP_ADD_CONSTANT, 0, 0, 0x38 });
	PROGRAM(1, { DP_OP_ADD_CONSTANT, 0, 0, 0x40 });
	PROGRAM(2, { DP_OP_CONSTANT, 0, 0, 0x11 }, { .code = DP_OP_XOR });
	rule->ra = (struct dp_where){ DP_WHERE_EXPRESSION, 0, 0, WORLD_PROGRAM(0) };
	rule->sp = (struct dp_where){ DP_WHERE_VALUE, 0, 0, WORLD_PROGRAM(1) };
	rule->fp = (struct dp_where){ DP_WHERE_VALUE, 0, 0, WORLD_PROGRAM(2) };
	world_poke(w, sp + 16 + 0x38, code(0));
	expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, 2);
	cr_assert(w->walk.at.sp == sp + 0x50 && w->walk.at.fp == ((sp + 16) ^ 0x11));
}

/* Runs ops on an empty stack of values; the top becomes fp. */
static uint64_t run(const struct dp_op *ops, size_t n)
{
	world_program(w, 0, ops, n);
	world_rule(w, 1, 16)->fp = (struct dp_where){ DP_WHERE_VALUE, 0, 0, WORLD_PROGRAM(0) };
	world_poke(w, sp + 8, code(0));
	expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, 2);
	return w->walk.at.fp;
}

Test(program, knows_every_operator)
{
	static const struct {
		int32_t a, b;
		enum dp_opcode op;
		uint64_t value;
	} cases[] = {
		{ 5, 3, DP_OP_ADD, 8 },
		{ 5, -3, DP_OP_SUB, 8 },
		{ 5, -3, DP_OP_MUL, (uint64_t)-15 },
		{ 6, 3, DP_OP_AND, 2 },
		{ 6, 3, DP_OP_OR, 7 },
		{ 6, 3, DP_OP_XOR, 5 },
		{ 3, 62, DP_OP_SHL, UINT64_C(3) << 62 },
		{ 3, 63, DP_OP_SHL, UINT64_C(1) << 63 },
		{ 3, 64, DP_OP_SHL, 0 },
		{ -1, 63, DP_OP_SHR, 1 },
		{ -1, 64, DP_OP_SHR, 0 },
		{ -1, -1, DP_OP_SHR, 0 },
		{ -8, 2, DP_OP_SHRA, (uint64_t)-2 },
		{ -8, 64, DP_OP_SHRA, (uint64_t)-1 },
		{ 8, 100, DP_OP_SHRA, 0 },
		{ -1, 1, DP_OP_EQ, 0 },
		{ -1, 1, DP_OP_NE, 1 },
		{ -1, 1, DP_OP_GE, 0 },
		{ -1, 1, DP_OP_GT, 0 },
		{ -1, 1, DP_OP_LE, 1 },
		{ -1, 1, DP_OP_LT, 1 },
		{ 1, 1, DP_OP_GE, 1 },
		{ 1, 1, DP_OP_GT, 0 },
		{ 1, 1, DP_OP_EQ, 1 },
		{ 1, 2, DP_OP_DROP, 1 },
		{ 1, 2, DP_OP_SWAP, 1 },
		{ 1, -2, DP_OP_ABS, 2 },
		{ 1, 2, DP_OP_ABS, 2 },
		{ 1, 2, DP_OP_NEG, (uint64_t)-2 },
		{ 1, 2, DP_OP_NOT, ~UINT64_C(2) },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dp_op ops[] = { { DP_OP_CONSTANT, 0, 0, cases[i].a },
				       { DP_OP_CONSTANT, 0, 0, cases[i].b },
				       { .code = (uint8_t)cases[i].op } };
		uint64_t value;

		world_renumber(w, w->walk.in.snapshot + 1);
		value = run(ops, 3);
		cr_assert(value == cases[i].value, "case %zu: %lx", i, value);
	}
}

Test(program, moves_values_as_dwarf_says)
{
	/* 1 2 3 becomes 3 1 2 (the first is the lowest). */
	struct dp_op ops[] = {
		{ DP_OP_CONSTANT, 0, 0, 1 }, { DP_OP_CONSTANT, 0, 0, 2 },
		{ DP_OP_CONSTANT, 0, 0, 3 }, { .code = DP_OP_ROT },
		{ DP_OP_PICK, 2, 0, 0 },
	};

	cr_assert(run(ops, 4) == 2);
	cr_assert(run(ops, 5) == 3);
	ops[4].arg = 1;
	cr_assert(run(ops, 5) == 1);
}

Test(program, reads_as_few_bytes_as_a_program_says)
{
	struct dp_op ops[] = { { DP_OP_CONSTANT, 0, 0, 0x100 },
			       { .code = DP_OP_ADD },
			       { DP_OP_DEREF, 4, 0, 0 } };

	world_poke(w, sp + 0x110, 0x1122334455667788);
	cr_assert(run(ops, 3) == 0x55667788);
	ops[2].arg = 1;
	cr_assert(run(ops, 3) == 0x88);
	ops[2].arg = 8;
	cr_assert(run(ops, 3) == 0x1122334455667788);
}

Test(program, names_how_a_program_failed)
{
	PROGRAM(0, { DP_OP_REGISTER, DP_REG_SP, 0, 0x2000 }, { DP_OP_DEREF, 8, 0, 0 });
	PROGRAM(1, { DP_OP_REGISTER, DP_REG_SP, 0, 8 }, { .code = DP_N_OPS });
	PROGRAM(2, { DP_OP_REGISTER, DP_REG_SP, 0, 0x2000 }, { DP_OP_DEREF, 4, 0, 0 });
	world_programs(w)[WORLD_PROGRAM(3)] = DP_MAX_OPS + 1;
	world_fault(w, sp + 0x2000);
	expression_cfa(1, 0);
	expect_outcome(world_walk(w, code(1), sp, 0), DP_READ_FAULT, 1);
	expression_cfa(1, 2);
	expect_outcome(world_walk(w, code(1), sp, 0), DP_READ_FAULT, 1);
	expression_cfa(1, 1);
	expect_outcome(world_walk(w, code(1), sp, 0), DP_UNSUPPORTED_RULE, 1);
	expression_cfa(1, 3);
	expect_outcome(world_walk(w, code(1), sp, 0), DP_UNSUPPORTED_RULE, 1);
}

/* A stack of n frames of 16 bytes, in function 1, above the root. */
static void recurse(uint64_t bottom, int n)
{
	for (int i = 1; i < n; i++)
		world_poke(w, bottom + 16 * (uint64_t)i - 8, code(1));
	world_poke(w, bottom + 16 * (uint64_t)n - 8, code(0));
}

/* Each frame's CFA needs rbx: no frame is searched for it twice. */
Test(program, remembers_what_it_has_recovered)
{
	const unsigned int each = WALK_COST_FRAME + WALK_COST_PROGRAM + 5 + WALK_COST_RECOVER + 1;
	const int n = 300;

	PROGRAM(0, { DP_OP_REGISTER, DP_REG_SP, 0, 16 }, { DP_OP_REGISTER, DP_RBX, 0, 0 },
		{ DP_OP_CONSTANT, 0, 0, 0 }, { .code = DP_OP_MUL }, { .code = DP_OP_ADD });
	expression_cfa(1, 0);
	recurse(sp, n);
	expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, (uint32_t)n + 1);
	cr_assert_lt(w->walk.at.cost, (each + 1) * n, "%u", w->walk.at.cost);
	cr_assert_gt(w->walk.at.cost, (each - 1) * n, "%u", w->walk.at.cost);
}

/* What was recovered is not believed where a frame has saved the register since. */
Test(program, recovers_what_was_saved_since)
{
	/* CFA = rbx + 16 */
	PROGRAM(0, { DP_OP_REGISTER, DP_RBX, 0, 16 });
	expression_cfa(1, 0);
	world_rule(w, 3, 32)->saves = 2U << (DP_SAVED_RBX * DP_SLOT_BITS);
	world_renumber(w, w->walk.in.snapshot + 1);
	w->walk.in.regs.reg[DP_RBX] = sp + 0x20;
	/* leaf (16 bytes), 1 (rbx is the initial one), 3 (saves another), 1 (needs that), root */
	world_poke(w, sp + 8, code(1));
	world_poke(w, sp + 0x20 + 8, code(3));
	world_poke(w, sp + 0x30 + 0x10, sp + 0x80);
	world_poke(w, sp + 0x30 + 0x18, code(1));
	world_poke(w, sp + 0x80 + 8, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 5);
	cr_assert_eq(w->walk.at.sp, sp + 0x90);
	/* A frame that needs it may itself have saved its caller's. */
	world_rule(w, 3, 32);
	world_rules(w)[2].saves = 2U << (DP_SAVED_RBX * DP_SLOT_BITS);
	world_renumber(w, w->walk.in.snapshot + 1);
	world_poke(w, sp + 0x20, sp + 0x80);
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 5);
	cr_assert_eq(w->walk.at.sp, sp + 0x90);
	/* In the next walk, the initial value is another one. */
	w->walk.in.regs.reg[DP_RBX] = sp + 0x100;
	world_poke(w, sp + 0x100 + 8, code(0));
	expect_outcome(world_walk(w, code(2), sp, 0), DP_COMPLETE, 3);
	cr_assert_eq(w->walk.at.sp, sp + 0x110);
}

/* n frames whose CFA is computed by as many operations as there may be, and comes to sp + 16. */
static void recurse_at_cost(int n)
{
	struct dp_op ops[DP_MAX_OPS] = { { DP_OP_REGISTER, DP_REG_SP, 0, 16 } };

	for (int i = 1; i < DP_MAX_OPS; i++)
		ops[i] = (struct dp_op){ DP_OP_ADD_CONSTANT, 0, 0, 0 };
	world_program(w, 0, ops, DP_MAX_OPS);
	expression_cfa(1, 0);
	recurse(sp, n);
}

/* While a sample is taken, its CPU does nothing else. */
Test(program, ends_a_walk_that_takes_too_long)
{
	const int n = 1500;

	recurse_at_cost(n);
	cr_assert_eq(world_walk(w, code(1), sp, 0), DP_WALK_LIMIT);
	cr_assert_gt(w->walk.at.n_frames, WALK_MAX_COST / DP_MAX_OPS / 2);
	cr_assert_lt(w->walk.at.cost, WALK_MAX_COST + 2 * DP_MAX_OPS);
	/* A stack of as many plain frames costs no more than its pages. */
	world_rule(w, 1, 16);
	world_renumber(w, w->walk.in.snapshot + 1);
	expect_outcome(world_walk(w, code(1), sp, 0), DP_COMPLETE, (uint32_t)n + 1);
	cr_assert_lt(w->walk.at.cost, WALK_MAX_COST / 50, "%u", w->walk.at.cost);
}

/* What is left of the limit is what the caller says. */
Test(program, ends_a_walk_that_is_to_be_short)
{
	uint32_t all;

	recurse_at_cost(1500);
	cr_assert_eq(world_walk(w, code(1), sp, 0), DP_WALK_LIMIT);
	all = w->walk.at.n_frames;
	world_renumber(w, w->walk.in.snapshot + 1);
	walk_run_from(&w->walk, WALK_MAX_COST / 4 * 3);
	cr_assert_eq(w->walk.out.sample.outcome, DP_WALK_LIMIT);
	cr_assert_lt(w->walk.at.n_frames, all / 4 + 4);
	cr_assert_gt(w->walk.at.n_frames, all / 4 - 4);
}

/* The fast path looks up what is not known, too. */
Test(program, ends_a_walk_through_too_many_functions)
{
	const uint32_t at_once = FAST_PATH_FRAMES * (WALK_COST_LOOKUP + WALK_COST_WORD);

	for (int i = 1; i < WORLD_FUNCTIONS - 1; i++)
		world_rule(w, i, 8);
	for (uint64_t i = 0; i < DP_MAX_FRAMES; i++)
		world_poke(w, sp + 8 * i,
			   (i % 2 ? WORLD_CODE : WORLD_LIBRARY) + WORLD_FUNCTION_SIZE + 1 +
				   i * 3 % (DP_PAGE_SIZE - 2 * WORLD_FUNCTION_SIZE));
	world_renumber(w, w->walk.in.snapshot + 1);
	cr_assert_eq(world_walk(w, code(1), sp, 0), DP_WALK_LIMIT);
	cr_assert_leq(w->walk.at.cost, WALK_MAX_COST + at_once, "%u", w->walk.at.cost);
}

/* In user space a walk may cost more. */
Test(program, goes_on_where_it_may_cost_more)
{
	const uint32_t times = 3;
	uint32_t n_frames;

	recurse_at_cost(1500);
	cr_assert_eq(world_walk(w, code(1), sp, 0), DP_WALK_LIMIT);
	n_frames = w->walk.at.n_frames;
	w->port.times = times;
	world_renumber(w, w->walk.in.snapshot + 1);
	cr_assert_eq(world_walk(w, code(1), sp, 0), DP_WALK_LIMIT);
	cr_assert_gt(w->walk.at.n_frames, (n_frames - 1) * times);
	cr_assert_lt(w->walk.at.n_frames, (n_frames + 1) * times);
}

/* A stack of a megabyte, in frames of a page each, is no reason to end a walk. */
Test(program, ends_no_walk_for_its_size)
{
	const uint32_t n = 256, n_by_fp = 256, size = DP_USER_PAGE_SIZE;
	uint64_t bottom = WORLD_STACK + 0x100;

	world_rule(w, 1, (int32_t)size);
	world_renumber(w, w->walk.in.snapshot + 1);
	for (uint32_t i = 1; i <= n; i++)
		world_poke(w, bottom + (uint64_t)size * i - 8, code(i < n ? 1 : 0));
	for (int again = 0; again < 2; again++)
		expect_outcome(world_walk(w, code(1), bottom, 0), DP_COMPLETE, n + 1);
	/* The same by frame pointers, where each frame costs a little. */
	w->walk.in.unwind = DP_UNWIND_FP;
	for (uint32_t i = 0; i < n_by_fp; i++) {
		world_poke(w, bottom + (uint64_t)size * i,
			   i + 1 < n_by_fp ? bottom + (uint64_t)size * (i + 1) : 0);
		world_poke(w, bottom + (uint64_t)size * i + 8, code(1));
	}
	expect_outcome(world_walk(w, code(1), bottom - 8, bottom), DP_CHAIN_END, n_by_fp + 1);
}

/* A search that finds nothing ends no walk if only fp is lost, and may be repeated in each frame. */
Test(program, ends_searches_that_take_too_long)
{
	PROGRAM(0, { DP_OP_DROP, 0, 0, 0 }, { DP_OP_REGISTER, DP_RBX, 0, 0 });
	world_rule(w, 1, 16)->fp = (struct dp_where){ DP_WHERE_VALUE, 0, 0, WORLD_PROGRAM(0) };
	world_rule(w, 4, 16)->saves = DP_SAVES_APART | 0;
	world_saves(w)[0].where[DP_SAVED_RBX] = (struct dp_where){ DP_WHERE_UNDEFINED };
	world_renumber(w, w->walk.in.snapshot + 1);
	world_poke(w, sp + 8, code(1));
	recurse(sp + 16, 100);
	expect_outcome(world_walk(w, code(4), sp, 0), DP_COMPLETE, 102);
	recurse(sp + 16, 1500);
	cr_assert_eq(world_walk(w, code(4), sp, 0), DP_WALK_LIMIT);
	cr_assert_lt(w->walk.at.cost, WALK_MAX_COST + DP_MAX_FRAMES);
}

/* Searches that begin before the limit end there. */
Test(program, ends_searches_of_the_last_frame)
{
	const uint32_t n = 300, each = WALK_MAX_COST / n - WALK_COST_FRAME - WALK_COST_PROGRAM;
	struct dp_op ops[DP_MAX_OPS] = { { DP_OP_REGISTER, DP_REG_SP, 0, 16 } };

	for (int i = 1; i < DP_MAX_OPS; i++)
		ops[i] = (struct dp_op){ DP_OP_ADD_CONSTANT, 0, 0, 0 };
	world_program(w, 0, ops, each);
	PROGRAM(1, { DP_OP_REGISTER, DP_REG_SP, 0, 16 }, { DP_OP_REGISTER, DP_RBX, 0, 0 },
		{ .code = DP_OP_DROP }, { DP_OP_REGISTER, DP_R12, 0, 0 }, { .code = DP_OP_DROP },
		{ DP_OP_REGISTER, DP_R13, 0, 0 }, { .code = DP_OP_DROP });
	expression_cfa(1, 0);
	expression_cfa(3, 1);
	recurse(sp, (int)n);
	world_poke(w, sp + 16 * n - 8, code(3));
	world_poke(w, sp + 16 * n + 8, code(0));
	expect_outcome(world_walk(w, code(1), sp, 0), DP_WALK_LIMIT, n + 1);
	cr_assert_lt(w->walk.at.cost, WALK_MAX_COST + 2 * DP_MAX_OPS, "%u", w->walk.at.cost);
}

/* Nor does it go on because the last thing that it wanted was refused. */
Test(program, says_that_the_limit_ended_it)
{
	struct dp_op ops[DP_MAX_OPS] = { { DP_OP_REGISTER, DP_REG_SP, 0, 16 } };

	/* Ten words, in two pages by turns. */
	for (int i = 1; i + 3 < DP_MAX_OPS; i += 3) {
		ops[i] = (struct dp_op){ DP_OP_REGISTER, DP_REG_SP, 0, i % 2 ? 0x2000 : 0x4000 };
		ops[i + 1] = (struct dp_op){ DP_OP_DEREF, 8, 0, 0 };
		ops[i + 2] = (struct dp_op){ .code = DP_OP_DROP };
	}
	world_program(w, 0, ops, 31);
	expression_cfa(1, 0);
	recurse(sp, 1500);
	cr_assert_eq(world_walk(w, code(1), sp, 0), DP_WALK_LIMIT);
	cr_assert_lt((__u32)w->n_reads,
		     WALK_MAX_COST / WALK_COST_READ + w->walk.at.n_frames + WALK_FREE_PAGES);
	cr_assert_eq(w->walk.out.sample.fault_address, 0);
}
