/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BPF_TESTS_CHAIN_WORLD_H
#define DP_BPF_TESTS_CHAIN_WORLD_H

/* Frames of a list and of an array in memory, in the layout of no version. */

#include "bpf/runtime.h"
#include "bpf/tests/world_fixture.h"

/* The variable; what it leads to, frames and functions follow. */
#define VARIABLE (WORLD_STACK + 0x1000)
#define THREAD (WORLD_STACK + 0x1100)
#define FRAMES (WORLD_STACK + 0x2000)
#define FUNCTIONS (WORLD_STACK + 0x3000)
#define FLAGS (WORLD_STACK + 0x4000)

enum { FIRST = 24, STACK = 32, WORDS = 40, MACHINE = 48 };
#define MACHINE_STACK 0x7f0000001000
enum { CODE = 0, POSITION = 16, FLAG = 24, NEXT = 32, FRAME_SIZE = 40 };
enum { TYPE = 0, TAG = 8, OTHER_TAG = 24, BODY = 32, SCOPE = 48 };
enum { ENTRY = 2, SKIP = 4, KINDS = 0xf0, NO_KIND = 0x90, NATIVE = 7 };

/* In place of the image's rules: nothing is walked. */
static inline struct dp_runtime_image *layout(void)
{
	return world_cell(w, WORLD_IMAGE_CELL + sizeof(struct dp_image) / DP_CELL_SIZE);
}

static inline void begin_chain(void)
{
	struct dp_image *image;

	begin();
	image = world_cell(w, WORLD_IMAGE_CELL);
	image->runtime_kind = DP_RUNTIME_PHP;
	layout()->chain = (struct dp_chain){
		.variable = VARIABLE - WORLD_LIBRARY,
		.place = DP_TLS_NONE,
		.frame_size = FRAME_SIZE,
		.next = NEXT,
		.code = CODE,
		.position = POSITION,
		.flags = FLAG,
		.entry = ENTRY,
		.skip = SKIP,
		.kind = KINDS,
		.no_kind = NO_KIND,
		.native = NATIVE,
		.tags = { TAG, OTHER_TAG },
	};
	w->walk.runtime.mapping = 3;
}

static inline uint64_t frame_at(unsigned int i)
{
	return FRAMES + i * 0x40;
}

static inline uint64_t function_at(unsigned int i)
{
	return FUNCTIONS + i * 0x40;
}

/* Puts a frame with a function of its own, whose tags are its number and twice that. */
static inline void put_frame(unsigned int i, uint64_t flags)
{
	world_poke(w, frame_at(i) + CODE, function_at(i));
	world_poke(w, frame_at(i) + POSITION, 0x100 + i);
	world_poke(w, frame_at(i) + FLAG, flags);
	world_poke(w, function_at(i) + TAG, i);
	world_poke(w, function_at(i) + OTHER_TAG, 2 * i);
}

/* Three frames, the second of which does not enter a loop. */
static inline void put_list(void)
{
	for (unsigned int i = 0; i < 3; i++) {
		put_frame(i, i != 1 ? ENTRY : 0);
		world_poke(w, frame_at(i) + NEXT, i < 2 ? frame_at(i + 1) : 0);
	}
	world_poke(w, VARIABLE, frame_at(0));
}

static inline void put_array(void)
{
	struct dp_chain *c = &layout()->chain;

	put_list();
	c->first = FIRST + 1;
	c->stack = STACK;
	c->stack_words = WORDS;
	c->stride = 0x40;
	world_poke(w, VARIABLE, THREAD);
	world_poke(w, THREAD + FIRST, frame_at(0));
	world_poke(w, THREAD + STACK, FRAMES - 0x80);
	world_poke(w, THREAD + WORDS, (0x80 + 3 * 0x40) / 8);
}

static inline void expect(enum dp_runtime_outcome outcome, unsigned int n)
{
	const struct dp_runtime *head = &w->walk.runtime.head;

	w->walk.at.cost = 0;
	cr_assert_eq(runtime_read(&w->walk), n > 0 || outcome != DP_RUNTIME_COMPLETE);
	cr_assert(head->outcome == outcome, "outcome %d", head->outcome);
	cr_assert(head->n == n, "%d frames", head->n);
}

static inline void expect_frame(size_t at, unsigned int i, bool is_entry)
{
	const struct dp_runtime_frame *f = &w->walk.runtime.frames[at];

	cr_assert_eq(f->code, function_at(i));
	cr_assert_eq(f->position, (0x100 + i) | (is_entry ? DP_RUNTIME_ENTRY : 0));
	cr_assert_eq(f->tag, chain_tag(i, 2 * i));
}

static inline void expect_three(void)
{
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_frame(0, 0, true);
	expect_frame(1, 1, false);
	expect_frame(2, 2, true);
}

#endif
