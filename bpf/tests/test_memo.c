// SPDX-License-Identifier: Apache-2.0
/* Walks of stacks that are partly the same as the previous one. */
#include "bpf/tests/world_fixture.h"

#define DEPTH 24

static struct walk before;
static unsigned int seed = 1;

/* Functions 1 and 3 have their frame pointer in fp and save the caller's, 2 and 4 do not. */
static void begin_memo(void)
{
	begin();
	for (int n = 1; n <= 3; n += 2) {
		struct dp_rule *rule = world_rule(w, n, 16);

		rule->cfa_reg = DP_REG_FP;
		rule->fp = (struct dp_where){ .kind = DP_WHERE_CFA, .offset = -16 };
	}
	world_rule(w, 4, 48);
}

TestSuite(memo, .init = begin_memo, .fini = end);

/* A frame of function n is so long. */
static uint64_t size_of(int n)
{
	return n == 2 ? 16 : n == 4 ? 48 : 32;
}

/*
 * Lays out frames of these functions, the outermost last, followed by the root's, which ends at
 * `end`. Returns the first frame's stack pointer and fp.
 */
static uint64_t lay_out(const int *functions, int n, uint64_t end, uint64_t *ret_rbp)
{
	uint64_t cfa = end, fp = 7, callee = code(0);

	for (int i = n - 1; i >= 0; i--) {
		world_poke(w, cfa - 8, callee);
		if (functions[i] % 2) {
			world_poke(w, cfa - 16, fp);
			fp = cfa - 16;
		}
		cfa -= size_of(functions[i]);
		callee = code(functions[i]);
	}
	*ret_rbp = fp;
	return cfa;
}

/*
 * Walks a stack with the memo, and again without: the results must be equal. Returns the number of
 * frames in common with the previous walk.
 */
static uint32_t walk_both(uint64_t pc, uint64_t at, uint64_t fp)
{
	static struct walk walked;
	uint32_t n_same;

	w->walk.in.regs.reg[DP_REG_PC] = pc;
	w->walk.in.regs.reg[DP_REG_SP] = at;
	w->walk.in.regs.reg[DP_REG_FP] = fp;
	walk_run(&w->walk);
	n_same = w->walk.out.n_same;
	/* What the kernel sends: user space has the others. */
	for (uint32_t i = 0; i < n_same; i++)
		cr_assert_eq(walk_trail(&w->walk, w->walk.at.n_frames - 1 - i)->frame,
			     before.out.frames[before.at.n_frames - 1 - i]);
	walk_spell_out(&w->walk);
	walked = before = w->walk;

	memset(walked.cache, 0, sizeof(walked.cache));
	memset(walked.mapped.cookies, 0, sizeof(walked.mapped.cookies));
	walked.memo.memory_map = 0;
	walked.in.regs =
		(struct dp_regs){ .reg = { [DP_REG_PC] = pc, [DP_REG_SP] = at, [DP_REG_FP] = fp } };
	walk_run(&walked);
	cr_assert_eq(walked.out.n_same, 0);
	cr_assert_eq(walked.out.sample.outcome, w->walk.out.sample.outcome, "%d, %d",
		     walked.out.sample.outcome, w->walk.out.sample.outcome);
	cr_assert_eq(walked.at.n_frames, w->walk.at.n_frames, "%u, %u", walked.at.n_frames,
		     w->walk.at.n_frames);
	cr_assert(memcmp(walked.out.frames, w->walk.out.frames,
			 walked.at.n_frames * sizeof(walked.out.frames[0])) == 0);
	cr_assert_eq(walked.at.sp, w->walk.at.sp);
	cr_assert_eq(walked.at.fp, w->walk.at.fp);
	cr_assert_eq(walked.out.sample.fault_address, w->walk.out.sample.fault_address);
	return n_same;
}

static const int some[DEPTH] = { 2, 4, 1, 2, 3, 3, 4, 2, 1, 2, 4, 3,
				 2, 2, 1, 4, 4, 3, 1, 2, 2, 4, 1, 3 };

/* The first walk fills the cache, the second one leaves a trail. */
static uint64_t walk_some(uint64_t end, uint64_t *ret_rbp)
{
	uint64_t at = lay_out(some, DEPTH, end, ret_rbp);

	for (int i = 0; i < 2; i++)
		walk_both(code(some[0]), at, *ret_rbp);
	return at;
}

Test(memo, finds_the_same_stack)
{
	uint64_t fp, at = walk_some(sp + 0x800, &fp);

	cr_assert_eq(walk_both(code(some[0]), at, fp), DEPTH, "all but the innermost frame");
	expect_outcome(w->walk.out.sample.outcome, DP_COMPLETE, DEPTH + 1);
}

Test(memo, finds_it_below_frames_that_come_and_go)
{
	uint64_t end = sp + 0x800, fp, at;

	walk_some(end, &fp);
	for (int n = 1; n < 12; n++) {
		int other[DEPTH + 12];

		/* n frames replace two, and move the others */
		for (int i = 0; i < n; i++)
			other[i] = 2 + 2 * (i % 3 == 0);
		memcpy(other + n, some + 2, (DEPTH - 2) * sizeof(*some));
		at = lay_out(other, n + DEPTH - 2, end, &fp);
		cr_assert_geq(walk_both(code(other[0]), at, fp), DEPTH - 2);
		expect_outcome(w->walk.out.sample.outcome, DP_COMPLETE, (uint32_t)n + DEPTH - 1);
	}
}

static void change_each_return_address(uint64_t end)
{
	for (int i = 0; i < DEPTH; i++) {
		uint64_t fp, at = walk_some(end, &fp), cfa = at;
		uint32_t n_same;

		for (int j = 0; j <= i; j++)
			cfa += size_of(some[j]);
		/* The same function at another address, not met before. */
		world_poke(w, cfa - 8, (i == DEPTH - 1 ? code(0) : code(some[i + 1])) + 1);
		n_same = walk_both(code(some[0]), at, fp);
		cr_assert_eq(n_same, (uint32_t)(DEPTH - 1 - i), "%d: %u", i, n_same);
	}
}

Test(memo, sees_a_return_address_that_is_another_one)
{
	change_each_return_address(sp + 0x800);
	/* Also if a page ends inside a frame: the rest has to be read separately. */
	for (uint64_t behind = 8; behind <= 256; behind += 8)
		change_each_return_address(WORLD_STACK + 2 * DP_USER_PAGE_SIZE + behind);
}

/*
 * A frame pointer may be the last word of a page, with its return address the first word of the
 * next.
 */
Test(memo, sees_a_return_address_behind_the_end_of_a_page)
{
	const uint64_t page = WORLD_STACK + 2 * DP_USER_PAGE_SIZE, first = page - 8 - 3 * 16;

	w->walk.in.unwind = DP_UNWIND_FP;
	for (uint64_t i = 0; i < 8; i++) {
		world_poke(w, first + 16 * i, i < 7 ? first + 16 * (i + 1) : 0);
		world_poke(w, first + 16 * i + 8, library(2) + i);
	}
	for (int i = 0; i < 3; i++)
		walk_both(code(2), first - 32, first);
	expect_outcome(w->walk.out.sample.outcome, DP_CHAIN_END, 9);
	world_poke(w, page, library(2) + 20);
	cr_assert_eq(walk_both(code(2), first - 32, first), 4);
	cr_assert_eq(DP_FRAME_ADDRESS(w->walk.out.frames[4]), library(2) + 20);
}

/* If the CFA depends on fp, the rest is another stack. */
Test(memo, sees_a_frame_pointer_that_is_another_one)
{
	static const int functions[] = { 2, 2, 1, 4, 1, 2, 2, 1, 2 };
	uint64_t end = sp + 0x400, fp, at = lay_out(functions, 9, end, &fp), other;

	for (int i = 0; i < 3; i++)
		walk_both(code(2), at, fp);
	expect_outcome(w->walk.out.sample.outcome, DP_COMPLETE, 10);
	cr_assert_eq(w->walk.memo.same_from, 1);
	/*
	 * The third one saves the frame pointer of the fifth one, at its CFA less 16. That one's
	 * stack is now above, with two frames less.
	 */
	lay_out(functions + 6, 3, end + 0x200, &other);
	world_poke(w, other + 0x18, code(2));
	world_poke(w, at + 16 + 16 + 32 - 16, other);
	cr_assert_eq(walk_both(code(2), at, fp), 0);
	cr_assert_eq(w->walk.at.sp, end + 0x200);
}

/* A counter in the outermost function, on which the others do not depend. */
Test(memo, does_not_mind_an_rbp_that_is_not_needed)
{
	static const int functions[] = { 2, 4, 4, 2, 2, 4, 2, 2, 4 };
	uint64_t fp, at = lay_out(functions, 9, sp + 0x400, &fp);

	for (uint64_t i = 0; i < 2; i++)
		walk_both(code(2), at, i);
	for (uint64_t i = 0; i < 3; i++)
		cr_assert_eq(walk_both(code(2), at, 100 + i), 9);
}

Test(memo, looks_for_the_cookies)
{
	uint64_t fp, at = walk_some(sp + 0x800, &fp);

	w->cookie++;
	walk_both(code(some[0]), at, fp);
	expect_outcome(w->walk.out.sample.outcome, DP_CODE_CHANGED, 0);
	w->cookie--;
	cr_assert_eq(walk_both(code(some[0]), at, fp), 0, "the walk before has found nothing");
	cr_assert_eq(walk_both(code(some[0]), at, fp), DEPTH);
}

Test(memo, does_not_follow_other_mappings_or_modes)
{
	uint64_t fp, at = walk_some(sp + 0x800, &fp);

	world_renumber(w, 8);
	cr_assert_eq(walk_both(code(some[0]), at, fp), 0);
	walk_both(code(some[0]), at, fp);
	cr_assert_eq(walk_both(code(some[0]), at, fp), DEPTH);
	w->walk.in.unwind = DP_UNWIND_DWARF;
	cr_assert_eq(walk_both(code(some[0]), at, fp), 0);
}

/* As for forked servers: the stacks are at the same address too. */
Test(memo, follows_the_walk_of_another_process_with_the_same_mappings)
{
	uint64_t end = sp + 0x800, fp, at = walk_some(end, &fp);
	uint32_t n_looked_up = w->walk.mapped.n_looked_up;

	world_fork(w, 8);
	cr_assert_eq(walk_both(code(some[0]), at, fp), DEPTH);
	cr_assert_eq(w->walk.mapped.n_looked_up, n_looked_up);
	at = lay_out(some + 4, DEPTH - 4, end, &fp);
	cr_assert_eq(walk_both(code(some[4]), at, fp), DEPTH - 4);
}

Test(memo, ends_where_it_has_to)
{
	uint64_t fp, at = walk_some(sp + 0x800, &fp);

	w->walk.in.max_frames = 10;
	walk_both(code(some[0]), at, fp);
	expect_outcome(w->walk.out.sample.outcome, DP_DEPTH_LIMIT, 10);
	w->walk.in.max_frames = DP_MAX_FRAMES;
	walk_both(code(some[0]), at, fp);
	expect_outcome(w->walk.out.sample.outcome, DP_COMPLETE, DEPTH + 1);
	world_fault(w, (at & ~(uint64_t)(DP_USER_PAGE_SIZE - 1)) + DP_USER_PAGE_SIZE);
	at = walk_some((at & ~(uint64_t)(DP_USER_PAGE_SIZE - 1)) + DP_USER_PAGE_SIZE + 0x200, &fp);
	walk_both(code(some[0]), at, fp);
	cr_assert_eq(w->walk.out.sample.outcome, DP_READ_FAULT);
}

/* Like setcontext(): the stack pointer is restored from memory, and is not the CFA. */
Test(memo, knows_a_stack_pointer_that_is_not_the_cfa)
{
	uint64_t fp, at = walk_some(sp + 0x800, &fp), low = sp - 0x200;
	uint64_t second = at + size_of(some[0]), ra = second + size_of(some[1]) - 8;

	world_rule(w, 5, 16)->sp = (struct dp_where){ .kind = DP_WHERE_CFA, .offset = -16 };
	world_renumber(w, 8);
	world_poke(w, low, second);
	world_poke(w, low + 8, code(some[1]));
	for (int i = 0; i < 3; i++)
		walk_both(code(some[0]), at, fp);
	cr_assert_geq(walk_both(code(5), low, fp), DEPTH - 1);
	expect_outcome(w->walk.out.sample.outcome, DP_COMPLETE, DEPTH + 1);
	/* That frame met again, now with another caller */
	for (int i = 0; i < 3; i++) {
		walk_both(code(some[0]), at, fp);
		world_poke(w, ra, code(some[2]) + 1 + (uint64_t)i);
		walk_both(code(5), low, fp);
		expect_outcome(w->walk.out.sample.outcome, DP_COMPLETE, DEPTH + 1);
	}
	/* The walk before comes from there, and this one with the CFA as stack pointer */
	world_poke(w, low + 16 + size_of(some[1]) - 8, code(0));
	walk_both(code(5), low, fp);
	world_rule(w, 6, 16);
	world_renumber(w, 9);
	for (int i = 0; i < 3; i++) {
		walk_both(code(5), low, fp);
		walk_both(code(6), low, fp);
	}
}

/* A rule needs a register's value above frames that were followed. */
Test(memo, finds_registers_that_followed_frames_have_saved)
{
	uint64_t fp, at = walk_some(sp + 0x800, &fp), top = sp + 0x800;
	struct dp_rule *by_rbx = world_rule(w, 6, 0);

	by_rbx->cfa_reg = DP_RBX;
	world_rule(w, 4, 48)->saves = 3 << (DP_SAVED_RBX * DP_SLOT_BITS);
	world_renumber(w, 8);
	/*
	 * The last frame is of function 6, whose CFA is in rbx; the outermost frame of 4 saved it.
	 */
	world_poke(w, top - 8, code(6));
	for (uint64_t i = 0; i < 6; i++) {
		uint64_t cfa = at;

		for (int j = 0; j < DEPTH; j++) {
			cfa += size_of(some[j]);
			if (some[j] == 4)
				world_poke(w, cfa - 24, top + 64 + 16 * (i / 3));
		}
		world_poke(w, top + 64 + 16 * (i / 3) - 8, code(0));
		w->walk.in.regs.reg[DP_RBX] = 0;
		walk_both(code(some[0]), at, fp);
		expect_outcome(w->walk.out.sample.outcome, DP_COMPLETE, DEPTH + 2);
		cr_assert_eq(w->walk.at.sp, top + 64 + 16 * (i / 3));
	}
}

/* Chains of frame pointers through code without tables are followed too. */
Test(memo, follows_frame_pointers)
{
	uint64_t at = sp;

	for (int i = 0; i < 20; i++, at += 32) {
		world_poke(w, at, at + 32);
		world_poke(w, at + 8, WORLD_JIT + 16 + 8 * (uint64_t)i);
	}
	world_poke(w, at, 0);
	world_poke(w, at + 8, WORLD_JIT + 8);
	for (int i = 0; i < 2; i++)
		walk_both(WORLD_JIT + 64, sp - 64, sp);
	cr_assert_geq(walk_both(WORLD_JIT + 72, sp - 64, sp), 19);
	expect_outcome(w->walk.out.sample.outcome, DP_CHAIN_END, 22);
}

static uint64_t pick(uint64_t n)
{
	return (uint64_t)rand_r(&seed) % n;
}

Test(memo, makes_no_difference_to_stacks_that_change_here_and_there)
{
	uint64_t end = sp + 2 * DP_USER_PAGE_SIZE, same = 0, total = 0;
	int functions[200];

	for (int i = 0; i < 200; i++)
		functions[i] = (int)(1 + pick(4));
	for (int round = 0; round < 20000; round++) {
		int n = (int)(150 + pick(50)), first = 200 - n;
		uint64_t fp, at;

		/* Usually among the innermost frames */
		if (pick(2))
			functions[pick(4) ? first + (int)pick(8) : (int)pick(200)] =
				(int)(1 + pick(4));
		at = lay_out(functions + first, n, end, &fp);
		if (pick(4) == 0)
			world_poke(w, at + 8 * pick((end - at) / 8),
				   pick(2) ? code((int)pick(6)) : at + 8 * pick(100));
		w->walk.in.max_frames = (uint32_t)(pick(10) ? DP_MAX_FRAMES : pick(200) + 1);
		same += walk_both(code(functions[first]), at, fp);
		total += w->walk.at.n_frames;
	}
	cr_assert_gt(same, total / 3, "%lu of %lu frames", same, total);
}
