// SPDX-License-Identifier: Apache-2.0
/*
 * The same walks in the kernel and in user space: random rules, stacks and registers, in memory
 * that both read. Finds differences between the two compilers, the verifier and the ports, but not
 * errors common to both.
 */
#include <asm/prctl.h>
#include <criterion/criterion.h>

#include "base/root_main.h"
#include "bpf/tests/world_kernel.h"

#define N_WALKS 20000

struct fixture {
	struct world_kernel kernel;
	struct world *world;
	struct walk state; /* of the kernel's walk */
	struct walk anew;  /* of one without anything kept */
};

static struct fixture f;
static unsigned int seed = 1;

static uint64_t pick(uint64_t n)
{
	return (uint64_t)rand_r(&seed) % n;
}

/* Gives the synthetic process real memory, which both walkers read. */
static int read_real(struct port_user *port, void *dst, uint32_t size, uint64_t address)
{
	struct world *w = (struct world *)port;
	uint64_t stack_end = WORLD_STACK + sizeof(w->stack);

	for (int i = 0; i < 2; i++) {
		uint64_t at = address - (i ? WORLD_LIBRARY : WORLD_CODE) + DP_PAGE_SIZE;

		if (at <= sizeof(w->code) - size) {
			memcpy(dst, (void *)address, size);
			return 0;
		}
	}
	if (address < WORLD_STACK || address + size > stack_end || address + size < address)
		return -EFAULT;
	memcpy(dst, (void *)address, size);
	return 0;
}

static void begin(void)
{
	int err = world_kernel_open(&f.kernel);

	cr_assert_eq(err, 0, "cannot load the walker: %s", strerror(-err));
	f.world = f.kernel.world;
	f.world->port.read = read_real;
	/* Walks belong to this thread. */
	cr_assert(syscall(SYS_arch_prctl, ARCH_GET_FS, &f.world->port.thread_base) == 0);
}

static void end(void)
{
	world_kernel_close(&f.kernel);
}

static uint64_t random_code(void)
{
	static const uint64_t bases[] = { WORLD_CODE, WORLD_LIBRARY };

	if (pick(30) == 0)
		return WORLD_JIT + pick(DP_PAGE_SIZE);
	if (pick(100) == 0)
		return pick(2) ? 0 : 0x123456;
	return bases[pick(2)] + pick(DP_PAGE_SIZE);
}

static uint64_t random_stack(void)
{
	return WORLD_STACK + pick(sizeof(f.world->stack)) / (pick(8) ? 8 : 1) * 8;
}

static struct dp_op random_op(void)
{
	static const uint8_t frequent[] = { DP_OP_REGISTER, DP_OP_CONSTANT, DP_OP_ADD,
					    DP_OP_ADD_CONSTANT, DP_OP_DEREF };
	struct dp_op op = { .code = (uint8_t)(pick(2) ? frequent[pick(5)] : pick(DP_N_OPS)) };

	op.value = pick(8) ? (int32_t)(8 * pick(32)) - 64 : (int32_t)pick(100);
	if (op.code == DP_OP_REGISTER)
		op.arg = (uint8_t)(pick(2) ? DP_REG_SP : pick(DP_N_VALUE_REGISTERS));
	/* Thread-local data differs from run to run; knows_the_thread() tests it. */
	if (op.code == DP_OP_REGISTER && op.arg == DP_THREAD_BASE)
		op.arg = DP_BIAS;
	if (op.code == DP_OP_PICK)
		op.arg = (uint8_t)pick(DP_MAX_VALUES);
	if (op.code == DP_OP_DEREF)
		op.arg = (uint8_t)(pick(2) ? 8 : 1 + pick(8));
	if (pick(200) == 0)
		op.code = DP_N_OPS;
	return op;
}

static int n_programs;

/* Makes a random program that starts with `depth` values. Returns its offset. */
static int32_t random_program(int depth)
{
	struct dp_op ops[DP_MAX_OPS] = { { DP_OP_REGISTER, DP_REG_SP, 0, 8 * (int32_t)pick(16) } };
	size_t n = 1, want = 1 + pick(pick(4) ? 6 : DP_MAX_OPS);
	int program = n_programs++ % WORLD_PROGRAMS;

	depth++;
	while (n < want) {
		int after;

		ops[n] = random_op();
		after = world_depth_after(&ops[n], depth);
		if (after < 0)
			continue;
		depth = after;
		n++;
	}
	world_program(f.world, program, ops, n);
	if (pick(100) == 0)
		world_programs(f.world)[WORLD_PROGRAM(program)] = DP_MAX_OPS + pick(100);
	return WORLD_PROGRAM(program);
}

static struct dp_where random_where(void)
{
	struct dp_where where = { .kind = DP_WHERE_SAME };

	switch (pick(24)) {
	case 0 ... 7:
		where.kind = DP_WHERE_CFA;
		where.offset = -8 * (int32_t)(1 + pick(8));
		break;
	case 8:
		where.kind = DP_WHERE_MEMORY;
		where.reg = (uint8_t)pick(DP_N_REGISTERS);
		where.offset = 8 * (int32_t)pick(16);
		break;
	case 9:
		where.kind = DP_WHERE_REGISTER;
		where.reg = (uint8_t)pick(DP_N_REGISTERS);
		break;
	case 10:
		where.kind = (uint8_t)pick(DP_WHERE_VALUE + 2);
		break;
	}
	if (where.kind == DP_WHERE_EXPRESSION || where.kind == DP_WHERE_VALUE)
		where.offset = random_program(1);
	return where;
}

static uint32_t random_slots(void)
{
	uint32_t slots = 0;

	for (int i = 0; i < DP_N_SAVED; i++)
		slots |= (pick(2) ? 0 : (uint32_t)(1 + pick(8))) << (i * DP_SLOT_BITS);
	return slots;
}

static uint32_t random_saves(void)
{
	return pick(2) ? random_slots() : DP_SAVES_APART | (uint32_t)pick(8);
}

/* A rule that a word expresses. */
static uint64_t random_word(void)
{
	return (pick(4) ? DP_FORM_SP : DP_FORM_FP) | (uint64_t)(1 + pick(12)) << DP_FORM_BITS |
	       (uint64_t)pick(4) << DP_WORD_FP_SHIFT |
	       (uint64_t)random_slots() << DP_WORD_SAVES_SHIFT;
}

static void random_rule(struct dp_rule *rule)
{
	static const uint8_t others[] = { DP_REG_FP, DP_REG_FP, DP_RBX, DP_R12, DP_R10 };

	*rule = (struct dp_rule){
		.cfa = (uint8_t)(pick(8) ? DP_CFA_REGISTER : pick(DP_N_CFA + 1)),
		.cfa_reg = pick(10) ? DP_REG_SP : others[pick(5)],
		.why = (uint8_t)(1 + pick(DP_N_OUTCOMES - 1)),
		.lands = (uint8_t)(pick(16) ? DP_LANDS_NOT : pick(DP_N_LANDS)),
		.cfa_offset = 8 * (int32_t)(1 + pick(12)),
		.cfa_add = (int32_t)pick(16),
		.saves = random_saves(),
		.ra = { .kind = DP_WHERE_CFA, .offset = -8 },
		.fp = random_where(),
	};
	if (pick(32) == 0)
		rule->ra = random_where();
	if (pick(16) == 0)
		rule->sp = random_where();
	if (rule->cfa == DP_CFA_EXPRESSION || rule->cfa == DP_CFA_SWITCH)
		rule->cfa_offset = random_program(0);
}

/* For two processes with the same mappings. */
static void random_tables(uint64_t memory_map)
{
	world_renumber(f.world, 2 * memory_map);
	world_fork(f.world, 2 * memory_map + 1);
	for (int i = 0; i < WORLD_FUNCTIONS - 1; i++) {
		random_rule(&world_rules(f.world)[i + 1]);
		world_words(f.world)[i + 1] =
			i > 0 && pick(2) ? random_word() :
					   (uint64_t)(i + 1) << DP_FORM_BITS | DP_FORM_FULL;
	}
	world_root(f.world, 0);
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < DP_N_SAVED; j++)
			world_saves(f.world)[i].where[j] = random_where();
	world_kernel_publish(&f.kernel);
}

/* Most places are behind a call of some form. */
static void random_code_bytes(uint8_t *code)
{
	for (size_t i = 0; i < sizeof(f.world->code); i++)
		code[i] = pick(8) ? 0xe8 : pick(3) ? 0xff : (uint8_t)pick(256);
}

static void random_memory(void)
{
	static const uint64_t cookie = WORLD_COOKIE, other = WORLD_COOKIE + 1;
	uint64_t *words = (uint64_t *)WORLD_STACK;

	for (size_t i = 0; i < sizeof(f.world->stack) / 8; i++)
		words[i] = pick(12) ? random_code() : random_stack();
	random_code_bytes((uint8_t *)(WORLD_CODE - DP_PAGE_SIZE));
	random_code_bytes((uint8_t *)(WORLD_LIBRARY - DP_PAGE_SIZE));
	memcpy((void *)(WORLD_CODE - WORLD_COOKIE_BELOW), &cookie, 8);
	memcpy((void *)(WORLD_LIBRARY - WORLD_COOKIE_BELOW), pick(10) ? &cookie : &other, 8);
}

static void random_request(struct walk_request *request)
{
	for (int i = 0; i < DP_N_REGISTERS; i++)
		request->regs.reg[i] = pick(4) ? random_stack() : random_code();
	request->regs.reg[DP_REG_SP] = random_stack();
	request->regs.reg[DP_REG_PC] = random_code();
	request->unwind = (uint32_t)(pick(2) ? DP_UNWIND_AUTO : pick(3));
	request->in_syscall = (uint32_t)pick(2);
	request->max_frames = (uint32_t)(pick(4) ? DP_MAX_FRAMES : 1 + pick(10));
}

/* The previous stack, except for a word or two, usually from elsewhere in it. */
static void similar_request(struct walk_request *request, const struct walk_request *last)
{
	uint64_t at = last->regs.reg[DP_REG_SP];

	*request = *last;
	if (pick(2))
		request->regs.reg[DP_REG_PC] = random_code();
	for (uint64_t i = pick(3); i > 0; i--) {
		uint64_t word = at + 8 * pick(32);

		if (word < WORLD_STACK + sizeof(f.world->stack))
			*(uint64_t *)word = random_code();
	}
	if (pick(4) == 0 && at > WORLD_STACK + 64)
		request->regs.reg[DP_REG_SP] -= 8 * pick(8);
}

static const struct walk *walk_in_kernel(struct walk_request *request)
{
	uint32_t zero = 0;

	cr_assert(world_kernel_walk(&f.kernel, request) == 0);
	cr_assert(bpf_map_lookup_elem(bpf_map__fd(f.kernel.bpf->maps.walk_state), &zero,
				      &f.state) == 0);
	return &f.state;
}

static const struct walk *walk_in_user_space(const struct walk_request *request)
{
	struct walk *w = &f.world->walk;

	w->in.regs = request->regs;
	w->in.snapshot = request->snapshot;
	w->in.memory_map = request->memory_map;
	w->in.snapshot_cell = request->snapshot_cell;
	w->in.unwind = request->unwind;
	w->in.max_frames = request->max_frames;
	w->in.in_syscall = request->in_syscall;
	w->program.cell = 0;
	walk_run(w);
	walk_spell_out(w);
	return w;
}

/* The same walk with nothing kept, which must give the same result. */
static const struct walk *walk_anew(const struct walk_request *request)
{
	static struct walk before;
	struct walk *w = &f.world->walk;

	before = *w;
	memset(w->cache, 0, sizeof(w->cache));
	memset(w->rules, 0, sizeof(w->rules));
	memset(w->mapped.cookies, 0, sizeof(w->mapped.cookies));
	w->memo.memory_map = 0;
	walk_in_user_space(request);
	f.anew = *w;
	*w = before;
	return &f.anew;
}

static void compare(const struct walk *kernel, const struct walk *user, int i)
{
	cr_assert(kernel->out.sample.outcome == user->out.sample.outcome, "walk %d: outcome %d, %d",
		  i, kernel->out.sample.outcome, user->out.sample.outcome);
	cr_assert(kernel->at.n_frames == user->at.n_frames, "walk %d: %u frames, %u", i,
		  kernel->at.n_frames, user->at.n_frames);
	cr_assert(memcmp(kernel->out.frames, user->out.frames,
			 user->at.n_frames * sizeof(user->out.frames[0])) == 0,
		  "walk %d: frames differ", i);
	cr_assert(kernel->out.sample.fault_address == user->out.sample.fault_address);
	cr_assert(kernel->at.sp == user->at.sp && kernel->at.fp == user->at.fp &&
		  kernel->at.pc == user->at.pc);
	cr_assert(memcmp(&kernel->in.regs, &user->in.regs, sizeof(user->in.regs)) == 0);
	cr_assert(kernel == &f.anew || (kernel->memo.has_met == user->memo.has_met &&
					kernel->memo.same_to == user->memo.same_to));
}

Test(walk_kernel, agrees_with_user_space, .init = begin, .fini = end, .timeout = 400)
{
	unsigned int outcomes[DP_N_OUTCOMES] = { 0 };
	unsigned int frames = 0, programs[2] = { 0 }, n_met = 0, n_landed = 0, n_limited = 0;
	struct walk_request last;

	for (int i = 0; i < N_WALKS; i++) {
		struct walk_request request = { 0 };
		uint64_t memory_map = 1 + (uint64_t)i / 50, process = pick(2);
		const struct walk *user;

		if (i % 50 == 0) {
			random_tables(memory_map);
			random_memory();
		}
		if (i % 50 == 0 || pick(3) == 0)
			random_request(&request);
		else
			similar_request(&request, &last);
		request.memory_map = 2 * memory_map;
		request.snapshot = request.memory_map + process;
		request.snapshot_cell = process ? WORLD_OTHER_CELL : WORLD_SPACE_CELL;
		last = request;
		user = walk_in_user_space(&request);
		compare(walk_in_kernel(&request), user, i);
		/* With nothing kept, the same costs more. */
		if (walk_anew(&request)->out.sample.outcome == DP_WALK_LIMIT)
			n_limited++;
		else
			compare(&f.anew, user, i);
		outcomes[user->out.sample.outcome]++;
		frames += user->at.n_frames;
		n_met += user->memo.has_met;
		for (uint32_t j = 0; j < user->at.n_frames; j++)
			n_landed += DP_FRAME_METHOD(user->out.frames[j]) == DP_METHOD_LANDING_PAD;
		if (user->program.cell != 0)
			programs[user->program.outcome == DP_WALKING]++;
	}
	/* The walks must have covered every case for their agreement to mean something. */
	cr_expect(n_landed > 0);
	for (int i = DP_COMPLETE; i <= DP_CHAIN_END; i++)
		cr_expect(outcomes[i] > 0 || i == DP_NO_PROCESS || i == DP_NULL_RETURN,
			  "no walk ended with outcome %d", i);
	cr_assert(n_limited < N_WALKS / 20, "%u walks were ended by their cost", n_limited);
	cr_assert(n_met > N_WALKS / 20, "%u walks met the one before", n_met);
	cr_assert(frames > 2 * N_WALKS, "%u frames", frames);
	cr_assert(programs[0] > N_WALKS / 200 && programs[1] > N_WALKS / 200,
		  "%u programs failed, %u did not", programs[0], programs[1]);
}

/* Thread-local storage, whose base the kernel finds itself. */
Test(walk_kernel, knows_the_thread, .init = begin, .fini = end)
{
	static const struct dp_op ops[] = { { DP_OP_REGISTER, DP_THREAD_BASE, 0, -8 } };
	struct walk_request request = { .snapshot = 2,
					.memory_map = 2,
					.snapshot_cell = WORLD_SPACE_CELL,
					.unwind = DP_UNWIND_DWARF,
					.max_frames = DP_MAX_FRAMES };
	const struct walk *kernel;

	world_renumber(f.world, 2);
	world_program(f.world, 0, ops, 1);
	world_rule(f.world, 1, 16)->fp =
		(struct dp_where){ DP_WHERE_VALUE, 0, 0, WORLD_PROGRAM(0) };
	world_root(f.world, 0);
	world_kernel_publish(&f.kernel);
	memset((void *)(WORLD_CODE - DP_PAGE_SIZE), 0xe8, sizeof(f.world->code));
	*(uint64_t *)(WORLD_CODE - WORLD_COOKIE_BELOW) = WORLD_COOKIE;
	*(uint64_t *)(WORLD_STACK + 0x108) = WORLD_IN(WORLD_CODE, 0);
	request.regs.reg[DP_REG_PC] = WORLD_IN(WORLD_CODE, 1);
	request.regs.reg[DP_REG_SP] = WORLD_STACK + 0x100;
	kernel = walk_in_kernel(&request);
	compare(kernel, walk_in_user_space(&request), 0);
	cr_assert(kernel->out.sample.outcome == DP_COMPLETE && kernel->at.n_frames == 2);
	cr_assert(kernel->at.fp == f.world->port.thread_base - 8);
}
