/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_TESTS_WORLD_H
#define DP_BPF_TESTS_WORLD_H

/*
 * A synthetic process for the walker: a stack whose words a test sets, and one binary of one page
 * whose rules it sets. The binary is mapped twice, so that walks cross mappings.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/walk.h"

#define WORLD_STACK 0x200000000000ULL
#define WORLD_STACK_PAGES 2040          /* room for deep stacks of large frames */
#define WORLD_CODE 0x400000ULL          /* first mapping */
#define WORLD_LIBRARY 0x300000000000ULL /* second mapping of the same binary */
#define WORLD_COOKIE 0x1122334455667788ULL
#define WORLD_COOKIE_BELOW 0x800
#define WORLD_JIT 0x10000000ULL /* a mapping without a table */
#define WORLD_PID 42
#define WORLD_MAX_FAULTS 4

/* The functions of the binary: 64 bytes each, function number n at n * 64. */
#define WORLD_FUNCTIONS 64
#define WORLD_FUNCTION_SIZE (DP_PAGE_SIZE / WORLD_FUNCTIONS)
#define WORLD_BLOCK_FUNCTIONS 32
#define WORLD_BLOCKS (WORLD_FUNCTIONS / WORLD_BLOCK_FUNCTIONS)
#define WORLD_BLOCK_BITS 12
#define WORLD_STRIDE 100
DP_ASSERT(WORLD_BLOCKS << WORLD_BLOCK_BITS == DP_PAGE_SIZE, "the page is made of its blocks");

/* Programs of the binary: number n is WORLD_PROGRAM(n) cells behind the first one. */
#define WORLD_PROGRAMS 16
#define WORLD_PROGRAM(n) ((n) * (DP_MAX_OPS + 1))

/* An address inside a function, in either mapping. */
#define WORLD_IN(base, n) ((base) + (uint64_t)(n)*WORLD_FUNCTION_SIZE + 16)

enum {
	WORLD_SPACE_CELL = 4,
	WORLD_OTHER_CELL = 32, /* the snapshot of another process with the same mappings */
	WORLD_IMAGE_CELL = 64,
};

struct world {
	struct port_user port;
	uint8_t *segment;
	uint64_t stack[WORLD_STACK_PAGES * DP_USER_PAGE_SIZE / 8];
	/* Around each mapping of the binary: every address is behind a call, unless changed */
	uint8_t code[2 * DP_PAGE_SIZE];
	uint8_t *jit; /* what is at WORLD_JIT; NULL: it is unreadable */
	uint64_t jit_size;
	uint64_t cookie; /* the word in memory in place of the binary's cookie */
	/* Unreadable pages, and whether they were read */
	uint64_t faults[WORLD_MAX_FAULTS];
	int fault_hit[WORLD_MAX_FAULTS];
	int n_faults;
	int n_reads;
	struct walk walk;
};

static inline int world_read(struct port_user *port, void *dst, uint32_t size, uint64_t address)
{
	struct world *w = (struct world *)port;

	w->n_reads++;
	for (int i = 0; i < w->n_faults; i++) {
		uint64_t page = w->faults[i] / DP_USER_PAGE_SIZE;

		if (address / DP_USER_PAGE_SIZE != page &&
		    (address + size - 1) / DP_USER_PAGE_SIZE != page)
			continue;
		w->fault_hit[i] = 1;
		return -14;
	}
	if (size == 8 && (address == WORLD_CODE - WORLD_COOKIE_BELOW ||
			  address == WORLD_LIBRARY - WORLD_COOKIE_BELOW)) {
		memcpy(dst, &w->cookie, size);
		return 0;
	}
	for (int i = 0; i < 2; i++) {
		uint64_t at = address - (i ? WORLD_LIBRARY : WORLD_CODE) + DP_PAGE_SIZE;

		if (at <= sizeof(w->code) - size) {
			memcpy(dst, w->code + at, size);
			return 0;
		}
	}
	if (w->jit && address >= WORLD_JIT && address + size <= WORLD_JIT + w->jit_size) {
		memcpy(dst, w->jit + (address - WORLD_JIT), size);
		return 0;
	}
	if (address - WORLD_STACK > sizeof(w->stack) - size)
		return -14;
	memcpy(dst, (uint8_t *)w->stack + (address - WORLD_STACK), size);
	return 0;
}

static inline void *world_cell(struct world *w, uint32_t cell)
{
	return w->segment + (size_t)cell * DP_CELL_SIZE;
}

/* All rules are stored in full, by number. */
static inline struct dp_rule *world_rules(struct world *w)
{
	struct dp_image *image = world_cell(w, WORLD_IMAGE_CELL);

	return world_cell(w, WORLD_IMAGE_CELL + image->full);
}

static inline uint64_t *world_words(struct world *w)
{
	struct dp_image *image = world_cell(w, WORLD_IMAGE_CELL);

	return world_cell(w, WORLD_IMAGE_CELL + image->rules);
}

static inline struct dp_saves *world_saves(struct world *w)
{
	struct dp_image *image = world_cell(w, WORLD_IMAGE_CELL);

	return world_cell(w, WORLD_IMAGE_CELL + image->saves);
}

static inline uint64_t *world_programs(struct world *w)
{
	struct dp_image *image = world_cell(w, WORLD_IMAGE_CELL);

	return world_cell(w, WORLD_IMAGE_CELL + image->programs);
}

/*
 * A row for each function, except at a block's start, in four bytes. Rules have no successors, so a
 * rule's state is its number. The first block's state is among the frequent ones, the others' are
 * not.
 */
static inline void world_page(struct dp_anchor *anchors, uint16_t *starts)
{
	uint8_t *rows = (uint8_t *)(anchors + WORLD_BLOCKS) + 1, *to = rows;

	for (uint16_t n = 0; n < WORLD_FUNCTIONS; n++) {
		uint16_t state = n == WORLD_FUNCTIONS - 1 ? DP_RULE_NONE : n + 1;

		if (n % WORLD_BLOCK_FUNCTIONS > 0) {
			*to++ = DWARF_DELTA_BYTE | DWARF_DELTA_NUMBER << 4;
			*to++ = WORLD_FUNCTION_SIZE - 15;
		} else {
			anchors->at =
				(uint8_t)(to - rows - n / WORLD_BLOCK_FUNCTIONS * WORLD_STRIDE);
			anchors->start = n > 0 ? DP_START_APART : 1;
			anchors++;
		}
		if (n == 0) {
			starts[1] = state;
			continue;
		}
		*to++ = (uint8_t)state;
		*to++ = (uint8_t)(state >> 8);
	}
	anchors->at = (uint8_t)(to - rows - WORLD_BLOCKS * WORLD_STRIDE);
}

/* Rule number n + 1 holds in function n; function WORLD_FUNCTIONS - 1 has none. */
static inline void world_image(struct world *w)
{
	struct dp_image *image = world_cell(w, WORLD_IMAGE_CELL);
	const uint32_t n_rules = WORLD_FUNCTIONS + 1;
	struct dp_page *page;
	uint16_t *states;

	*image = (struct dp_image){ .base = 0, .n_pages = 1, .n_rules = n_rules };
	image->rules = sizeof(*image) / DP_CELL_SIZE;
	image->full = image->rules + n_rules;
	image->saves = image->full + n_rules * (sizeof(struct dp_rule) / DP_CELL_SIZE);
	image->programs = image->saves + 8 * (sizeof(struct dp_saves) / DP_CELL_SIZE);
	image->states = image->programs + WORLD_PROGRAM(WORLD_PROGRAMS);
	image->starts = image->states + n_rules;
	image->pages = image->starts + 1;
	page = world_cell(w, WORLD_IMAGE_CELL + image->pages);
	*page = (struct dp_page){ .data = (image->pages + 1) * DP_CELL_SIZE,
				  .state = 1,
				  .block_bits = WORLD_BLOCK_BITS,
				  .stride = WORLD_STRIDE };
	image->n_cells = image->pages + 1 + WORLD_FUNCTIONS;

	for (uint32_t i = 0; i < n_rules; i++)
		world_words(w)[i] = (uint64_t)i << DP_FORM_BITS | DP_FORM_FULL;
	states = world_cell(w, WORLD_IMAGE_CELL + image->states);
	for (uint32_t i = 0; i < n_rules; i++)
		states[i] = (uint16_t)i;
	world_page(world_cell(w, WORLD_IMAGE_CELL + image->pages + 1),
		   world_cell(w, WORLD_IMAGE_CELL + image->starts));
	world_rules(w)[DP_RULE_NONE] = (struct dp_rule){ .why = DP_NO_RULE };
}

static inline void world_snapshot(struct world *w)
{
	struct dp_snapshot *snapshot = world_cell(w, WORLD_SPACE_CELL);
	struct dp_mapping *m = world_cell(w, WORLD_SPACE_CELL + sizeof(*snapshot) / DP_CELL_SIZE);

	*snapshot =
		(struct dp_snapshot){ .id = 7, .pid = WORLD_PID, .n_mappings = 3, .memory_map = 7 };
	m[0] = (struct dp_mapping){ WORLD_CODE,       WORLD_CODE + DP_PAGE_SIZE, WORLD_CODE,
				    WORLD_IMAGE_CELL, WORLD_COOKIE_BELOW,        WORLD_COOKIE };
	m[1] = (struct dp_mapping){ .start = WORLD_JIT, .end = WORLD_JIT + DP_PAGE_SIZE };
	m[2] = (struct dp_mapping){ WORLD_LIBRARY,    WORLD_LIBRARY + DP_PAGE_SIZE, WORLD_LIBRARY,
				    WORLD_IMAGE_CELL, WORLD_COOKIE_BELOW,           WORLD_COOKIE };
}

/* Gives the mappings other numbers, as after a change, and the next walks the new snapshot. */
static inline void world_renumber(struct world *w, uint64_t id)
{
	struct dp_snapshot *snapshot = world_cell(w, WORLD_SPACE_CELL);

	snapshot->id = id;
	snapshot->memory_map = id;
	w->walk.in.snapshot = id;
	w->walk.in.memory_map = id;
	w->walk.in.snapshot_cell = WORLD_SPACE_CELL;
}

/* The next walks are of another process with the same mappings. */
static inline void world_fork(struct world *w, uint64_t id)
{
	struct dp_snapshot *other = world_cell(w, WORLD_OTHER_CELL);

	memcpy(other, world_cell(w, WORLD_SPACE_CELL),
	       (WORLD_OTHER_CELL - WORLD_SPACE_CELL) * DP_CELL_SIZE);
	other->id = id;
	w->walk.in.snapshot = id;
	w->walk.in.snapshot_cell = WORLD_OTHER_CELL;
}

static inline struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));

	assert(w);
	w->segment = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	assert(w->segment);
	w->port =
		(struct port_user){ .read = world_read, .segments = &w->segment, .n_segments = 1 };
	w->cookie = WORLD_COOKIE;
	memset(w->code, 0xe8, sizeof(w->code));
	w->walk.world.user = &w->port;
	w->walk.in.snapshot = 7;
	w->walk.in.memory_map = 7;
	w->walk.in.snapshot_cell = WORLD_SPACE_CELL;
	w->walk.in.max_frames = DP_MAX_FRAMES;
	world_image(w);
	world_snapshot(w);
	return w;
}

static inline void world_free(struct world *w)
{
	free(w->segment);
	free(w);
}

/* Sets function n's rule: CFA = sp + cfa_offset, return address below it, fp unchanged. */
static inline struct dp_rule *world_rule(struct world *w, int n, int32_t cfa_offset)
{
	struct dp_rule *rule = &world_rules(w)[n + 1];

	*rule = (struct dp_rule){
		.cfa = DP_CFA_REGISTER,
		.cfa_reg = DP_REG_SP,
		.cfa_offset = cfa_offset,
		.ra = { .kind = DP_WHERE_CFA, .offset = -8 },
	};
	return rule;
}

/* Sets program number n, of at most DP_MAX_OPS instructions. */
static inline void world_program(struct world *w, int n, const struct dp_op *ops, size_t n_ops)
{
	uint64_t *program = world_programs(w) + WORLD_PROGRAM(n);

	*program = n_ops;
	memcpy(program + 1, ops, n_ops * sizeof(*ops));
}

/* The number of values after an instruction; -1 if it cannot be run with so many. */
static inline int world_depth_after(const struct dp_op *op, int depth)
{
	int needed = op->code == DP_OP_PICK ? op->arg + 1 :
		     op->code < DP_OP_PICK  ? 0 :
		     op->code == DP_OP_ROT  ? 3 :
		     op->code == DP_OP_SWAP ? 2 :
					      1 + (op->code >= DP_OP_ADD);

	if (depth < needed)
		return -1;
	if (op->code <= DP_OP_PICK)
		return depth < DP_MAX_VALUES ? depth + 1 : -1;
	if (op->code == DP_OP_DROP)
		return depth > 1 ? depth - 1 : -1;
	return depth - (op->code >= DP_OP_ADD);
}

/* Sets the rule of a root: no caller. */
static inline void world_root(struct world *w, int n)
{
	world_rule(w, n, 8)->ra.kind = DP_WHERE_UNDEFINED;
}

/* Sets the word at an address of the stack. */
static inline void world_poke(struct world *w, uint64_t address, uint64_t value)
{
	assert(address >= WORLD_STACK && address + 8 <= WORLD_STACK + sizeof(w->stack));
	memcpy((uint8_t *)w->stack + (address - WORLD_STACK), &value, sizeof(value));
}

static inline void world_fault(struct world *w, uint64_t address)
{
	assert(w->n_faults < WORLD_MAX_FAULTS);
	w->faults[w->n_faults++] = address;
}

static inline enum dp_outcome world_walk(struct world *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	w->walk.in.regs.reg[DP_REG_PC] = pc;
	w->walk.in.regs.reg[DP_REG_SP] = sp;
	w->walk.in.regs.reg[DP_REG_FP] = fp;
	walk_run(&w->walk);
	walk_spell_out(&w->walk);
	return w->walk.out.sample.outcome;
}

#endif
