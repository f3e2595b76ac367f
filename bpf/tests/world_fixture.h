/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BPF_TESTS_WORLD_FIXTURE_H
#define DP_BPF_TESTS_WORLD_FIXTURE_H

#include <criterion/criterion.h>

#include "bpf/tests/world.h"

/* A world for each test: .init = begin, .fini = end. */
static struct world *w;

/* Where the stack of most tests begins, well inside a page. */
static const uint64_t sp = WORLD_STACK + 0x1100;

static void begin(void)
{
	w = world_new();
	/* Function 0 is the root; 1 has a frame of 32 bytes, 2 one of 16. */
	world_root(w, 0);
	world_rule(w, 1, 32);
	world_rule(w, 2, 16);
}

static void end(void)
{
	world_free(w);
}

static inline uint64_t code(int n)
{
	return WORLD_IN(WORLD_CODE, n);
}

static inline uint64_t library(int n)
{
	return WORLD_IN(WORLD_LIBRARY, n);
}

static inline void expect_outcome(enum dp_outcome got, enum dp_outcome want, uint32_t n_frames)
{
	cr_assert(got == want, "outcome %d, not %d", got, want);
	cr_assert(w->walk.at.n_frames == n_frames, "%u frames", w->walk.at.n_frames);
	cr_assert(w->walk.out.sample.n_user == n_frames);
}

#endif
