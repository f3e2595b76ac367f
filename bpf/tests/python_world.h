/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BPF_TESTS_PYTHON_WORLD_H
#define DP_BPF_TESTS_PYTHON_WORLD_H

/* CPython's threads and frames in memory, in the layout of no version. */

#include "bpf/runtime.h"
#include "bpf/tests/world_fixture.h"

/* _PyRuntime; interpreters, threads, frames, code objects and names follow. */
#define RUNTIME (WORLD_STACK + 0x1000)
#define SELF 0x7f0000001000ULL
#define LINK 3

enum { INTERPRETERS = 40, NEXT = 8, THREADS = 16, ID = 24, FRAME = 32 };
enum { PREVIOUS = 0, CODE = 8, POSITION = 24, ENTRY = 33 };
enum { FILENAME = 8, NAME = 16, LINE = 28, HASH = 24 };
/* Of builds without the lock: in a frame, and in a code object. */
enum { COPY = 40, COPIES = 40 };

static uint64_t place; /* of what is put next */

/* In place of the image's rules: nothing is walked. */
static inline struct dp_runtime_image *layout(void)
{
	return world_cell(w, WORLD_IMAGE_CELL + sizeof(struct dp_image) / DP_CELL_SIZE);
}

static inline void begin_runtime(void)
{
	struct dp_image *image;

	begin();
	image = world_cell(w, WORLD_IMAGE_CELL);
	image->runtime_kind = DP_RUNTIME_PYTHON;
	layout()->python = (struct dp_python){
		.runtime = RUNTIME - WORLD_LIBRARY,
		.interpreters = INTERPRETERS,
		.next_interpreter = NEXT,
		.first_thread = THREADS,
		.next_thread = NEXT,
		.thread_id = ID,
		.thread_frame = FRAME,
		.frame_size = ENTRY + 1,
		.previous = PREVIOUS,
		.code = CODE,
		.position = POSITION,
		.position_size = 8,
		.entry = ENTRY,
		.entry_kind = DP_PYTHON_ENTRY_FLAG,
		.link = LINK,
		.name = NAME,
		.line = LINE,
		.hash = HASH,
		.filename = FILENAME,
	};
	w->port.thread_base = SELF;
	w->walk.runtime.mapping = 3;
	place = RUNTIME + 0x1000;
}

static inline uint64_t make_place(void)
{
	place += 64;
	return place - 64;
}

static inline void poke_byte(uint64_t address, uint8_t value)
{
	*((uint8_t *)w->stack + (address - WORLD_STACK)) = value;
}

/* Puts an interpreter in front of the others. */
static inline uint64_t put_interpreter(uint64_t next)
{
	uint64_t at = make_place();

	world_poke(w, at + NEXT, next);
	world_poke(w, RUNTIME + INTERPRETERS, at);
	return at;
}

/* Puts a thread in front of the others of an interpreter; `first`: its first one so far. */
static inline uint64_t put_thread(uint64_t interpreter, uint64_t first, uint64_t id, uint64_t frame)
{
	uint64_t at = make_place();

	world_poke(w, at + NEXT, first);
	world_poke(w, at + ID, id);
	world_poke(w, at + FRAME, frame);
	world_poke(w, interpreter + THREADS, at);
	return at;
}

static inline uint64_t put_code(uint64_t hash, uint32_t line)
{
	uint64_t at = make_place(), name = make_place();

	world_poke(w, at + NAME, name);
	world_poke(w, at + LINE, line);
	world_poke(w, name + HASH, hash);
	return at;
}

static inline uint64_t put_frame(uint64_t previous, uint64_t code, uint64_t position, uint8_t entry)
{
	uint64_t at = make_place();

	world_poke(w, at + PREVIOUS, previous);
	world_poke(w, at + CODE, code);
	world_poke(w, at + POSITION, position);
	poke_byte(at + ENTRY, entry);
	return at;
}

static inline void expect(enum dp_runtime_outcome outcome, unsigned int n)
{
	const struct dp_runtime *head = &w->walk.runtime.head;

	cr_assert_eq(head->kind, DP_RUNTIME_PYTHON);
	cr_assert(head->outcome == outcome, "outcome %d", head->outcome);
	cr_assert(head->n == n, "%d frames", head->n);
}

static inline void expect_frame(size_t i, uint64_t frame_code, uint64_t position, uint64_t tag)
{
	const struct dp_runtime_frame *f = &w->walk.runtime.frames[i];

	cr_assert_eq(f->code, frame_code);
	cr_assert_eq(f->position, position);
	cr_assert_eq(f->tag, tag);
}

#endif
