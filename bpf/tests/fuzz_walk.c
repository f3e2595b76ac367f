// SPDX-License-Identifier: Apache-2.0
/*
 * Whatever rules, programs and stacks say, all that a walk does is charged, and what it may be charged is
 * bounded. What it does is counted where it leaves the walker: in the port.
 *
 * Input: see world_feed.h.
 */
#include "bpf/port.h"

/* What a walk has done. */
static struct {
	uint64_t programs, ops;
	uint64_t recoveries, steps; /* of searches for registers */
	uint64_t pages, words;      /* reads of the stack, and of little */
	uint64_t n_frames, looked_up;
} done;

/* A loop that is run by a function of this name. */
static inline long count_loop(uint32_t n, long (*fn)(uint32_t, void *), void *ctx, const char *name)
{
	long steps = port_loop(n, fn, ctx);

	if (strcmp(name, "walk_program_step") == 0) {
		done.programs++;
		done.ops += (uint64_t)steps;
	} else if (strcmp(name, "walk_recover_step") == 0) {
		done.recoveries++;
		done.steps += (uint64_t)steps - 1; /* the last one may find the end */
	}
	return steps;
}

#define port_loop(n, fn, ctx) count_loop(n, fn, ctx, #fn)
#include "bpf/tests/world_feed.h"
#undef port_loop

/*
 * A frame is left before its cost is looked at: by four programs, each of whose instructions may read, or
 * together with others, by what the caches do not have. What ends a walk is read once more.
 */
#define MOST_OF_PROGRAMS (4 * DP_MAX_OPS * (1 + WALK_COST_READ) + 2 * WALK_COST_FAULT)
#define MOST_BESIDE (16 * (WALK_COST_LOOKUP + WALK_COST_WORD))
#define END WALK_COST_READ

#define STACK_SIZE ((uint64_t)WORLD_STACK_PAGES * DP_USER_PAGE_SIZE)

/* libFuzzer keeps inputs that set a new one of these: that do twice as much of something. */
#define N_DOUBLINGS 16
static uint8_t reached[sizeof(done) / sizeof(uint64_t) * N_DOUBLINGS]
	__attribute__((section("__libfuzzer_extra_counters")));

static struct world_case input;

static int read_word(struct world *w, void *dst, uint32_t size, uint64_t address)
{
	uint64_t at = address - WORLD_STACK;

	if (at >= STACK_SIZE || size > STACK_SIZE - at)
		return world_read(&w->port, dst, size, address);
	for (uint64_t from = address & ~7ULL; from < address + size; from += 8) {
		uint64_t word = world_word(&input.stack, from);
		uint64_t skip = from < address ? address - from : 0;
		uint64_t left = address + size - from, some = left < 8 ? left : 8;

		memcpy((uint8_t *)dst + (from + skip - address), (uint8_t *)&word + skip,
		       some - skip);
	}
	return 0;
}

static int read_counted(struct port_user *port, void *dst, uint32_t size, uint64_t address)
{
	struct world *w = (struct world *)port;

	if (dst == w->walk.stack.page)
		done.pages++;
	else
		done.words++;
	return read_word(w, dst, size, address);
}

/* What the walk must have been charged, but for the pages that are free. */
static uint64_t charged(void)
{
	uint64_t pages = done.pages > WALK_FREE_PAGES ? done.pages - WALK_FREE_PAGES : 0;

	return done.programs * WALK_COST_PROGRAM + done.ops + done.recoveries * WALK_COST_RECOVER +
	       done.steps + done.looked_up * WALK_COST_LOOKUP + pages * WALK_COST_READ +
	       done.words * WALK_COST_WORD;
}

static void note_done(void)
{
	uint64_t counts[sizeof(done) / sizeof(uint64_t)];

	memcpy(counts, &done, sizeof(done));
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		for (size_t j = 0; j < N_DOUBLINGS && counts[i] >> j != 0; j++)
			reached[i * N_DOUBLINGS + j] = 1;
}

static void walk_one(struct world *w, const struct world_walk *walk, uint32_t number)
{
	uint32_t looked_up = w->walk.mapped.n_looked_up;

	memset(&done, 0, sizeof(done));
	if (walk->is_new)
		world_renumber(w, number + 100);
	w->walk.in.regs = walk->regs;
	w->walk.in.unwind = walk->unwind;
	w->walk.in.in_syscall = walk->in_syscall;
	walk_run(&w->walk);
	done.n_frames = w->walk.at.n_frames;
	done.looked_up = w->walk.mapped.n_looked_up - looked_up;
	note_done();
	EXPECT(done.n_frames <= DP_MAX_FRAMES);
	EXPECT(w->walk.at.cost <= WALK_MAX_COST + MOST_OF_PROGRAMS + MOST_BESIDE);
	EXPECT(charged() <= w->walk.at.cost + END);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size };
	struct world *w = world_new();

	w->port.read = read_counted;
	w->port.thread_base = WORLD_STACK;
	world_feed(&feed, w, &input);
	for (uint32_t i = 0; i < input.n_walks; i++)
		walk_one(w, &input.walks[i], i);
	world_free(w);
	return 0;
}
