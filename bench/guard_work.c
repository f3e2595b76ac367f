// SPDX-License-Identifier: Apache-2.0
/*
 * usage: guard_work build|same|warm|cold
 *
 * Work with a constant number of instructions, for callgrind to count (ci/check-guard). build:
 * builds a table from synthetic unwind information like that of compilers. The others walk a stack
 * of 60 frames of that code with the walker in user space. same: the same stack again; warm: the
 * same addresses at another place than before; cold: with nothing remembered. Prints the table's
 * statistics.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASSEMBLER_SIZE (1 << 20)

#include "base/as_it_is.h"
#include "bench/made_functions.h"
#include "bpf/walk.h"
#include "tables/image.h"

#define N_FUNCTIONS 4000
#define N_FRAMES 60
#define N_WALKS 100

#define CODE 0x1000000ULL
#define STACK 0x7ff000000000ULL
#define STACK_WORDS 4096

enum { SPACE_CELL = 8, IMAGE_CELL = 64 };

static struct function functions[N_FUNCTIONS];
static struct assembler assembler;
static uint64_t stack[STACK_WORDS];
static struct walk walk;
static struct port_user port;
static unsigned int seed = 1;

/* The first function is the root. */
static struct cfi_section put_functions(void)
{
	size_t cie = put_cie(&assembler), fde;
	uint64_t at = CODE;

	for (int i = 0; i < N_FUNCTIONS; i++) {
		functions[i] = (struct function){ .start = at, .size = 64 + pick(&seed, 1000) };
		at += (functions[i].size + 15) / 16 * 16;
		if (i > 0) {
			put_function(&assembler, &seed, &functions[i], cie);
			continue;
		}
		fde = fde_begin(&assembler, cie, functions[0].start, functions[0].size);
		put_u8(&assembler, 0x07); /* undefined */
		put_uleb(&assembler, DP_REG_PC);
		functions[0].frame = 8;
		record_end(&assembler, fde);
	}
	return assembled(&assembler);
}

static struct image_input extent_of_functions(void)
{
	const struct function *last = &functions[N_FUNCTIONS - 1];

	return (struct image_input){ .start = CODE, .end = last->start + last->size };
}

/* callgrind counts this function and guard_walk() by name. */
AS_IT_IS static int guard_build(const struct cfi_section *section, const struct image_input *input,
				struct image *ret)
{
	volatile int err = image_build(section, input, ret); /* not left by a jump */

	return err;
}

/* Makes every address follow a call. */
static int read_memory(struct port_user *unused, void *dst, uint32_t size, uint64_t address)
{
	static const uint8_t call[8] = { 0, 0, 0, 0xe8 };

	(void)unused;
	if (address >= STACK && address + size <= STACK + sizeof(stack)) {
		memcpy(dst, (const uint8_t *)stack + (address - STACK), size);
		return 0;
	}
	if (size != sizeof(call))
		return -EFAULT;
	memcpy(dst, call, size);
	return 0;
}

/* Between prologue and epilogue. */
static uint64_t body_of(const struct function *f)
{
	return f->start + 20;
}

/* Makes a stack of random functions, and the registers of the innermost one. */
static void make_stack(struct dp_regs *ret)
{
	const struct function *f = &functions[1 + pick(&seed, N_FUNCTIONS - 1)];
	uint64_t at = 0;

	ret->reg[DP_REG_PC] = body_of(f);
	ret->reg[DP_REG_SP] = STACK;
	for (int i = 1; i < N_FRAMES; i++) {
		at += f->frame / 8;
		f = i == N_FRAMES - 1 ? &functions[0] :
					&functions[1 + pick(&seed, N_FUNCTIONS - 1)];
		stack[at - 1] = body_of(f);
	}
}

/* Makes a process with one mapping and one image. */
static int make_process(const struct image *image, const struct image_input *input)
{
	static uint8_t *segments[1];
	struct dp_mapping *mapping;
	struct dp_snapshot *snapshot;

	segments[0] = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	if (!segments[0] || image->n_cells > DP_SEGMENT_CELLS - IMAGE_CELL)
		return -ENOMEM;
	snapshot = (struct dp_snapshot *)(void *)(segments[0] + SPACE_CELL * DP_CELL_SIZE);
	*snapshot = (struct dp_snapshot){ .id = 1, .n_mappings = 1 };
	mapping = (struct dp_mapping *)(snapshot + 1);
	*mapping = (struct dp_mapping){ .start = input->start,
					.end = input->end,
					.image = IMAGE_CELL };
	memcpy(segments[0] + IMAGE_CELL * DP_CELL_SIZE, image->cells,
	       (size_t)image->n_cells * DP_CELL_SIZE);
	port = (struct port_user){ .read = read_memory, .segments = segments, .n_segments = 1 };
	walk.world.user = &port;
	walk.in.snapshot_cell = SPACE_CELL;
	walk.in.unwind = DP_UNWIND_DWARF;
	walk.in.max_frames = DP_MAX_FRAMES;
	return 0;
}

/* With another memory map number nothing that is remembered applies. */
static void walk_as(const struct dp_regs *regs, uint64_t id)
{
	struct dp_snapshot *snapshot =
		(struct dp_snapshot *)(void *)(port.segments[0] + SPACE_CELL * DP_CELL_SIZE);

	snapshot->id = id;
	walk.in.snapshot = id;
	walk.in.memory_map = id;
	walk.in.regs = *regs;
	walk_run(&walk);
}

AS_IT_IS static void guard_walk(const struct dp_regs regs[2], const char *what)
{
	for (uint64_t i = 0; i < N_WALKS; i++)
		walk_as(&regs[strcmp(what, "warm") == 0 && i % 2 == 0],
			strcmp(what, "cold") == 0 ? 2 + i : 1);
}

/* The stack exists twice: its upper half is a copy. */
static int run_walks(const struct image *image, const struct image_input *input, const char *what)
{
	struct dp_regs regs[2] = { 0 };
	int err = make_process(image, input);

	if (err < 0)
		return err;
	make_stack(&regs[0]);
	memcpy(stack + STACK_WORDS / 2, stack, sizeof(stack) / 2);
	regs[1] = regs[0];
	regs[1].reg[DP_REG_SP] += sizeof(stack) / 2;
	walk_as(&regs[0], 1);
	guard_walk(regs, what);
	free(port.segments[0]);
	return walk.out.sample.outcome == DP_COMPLETE && walk.at.n_frames == N_FRAMES ? 0 :
											-EBADMSG;
}

int main(int argc, char **argv)
{
	struct cfi_section section = put_functions();
	struct image_input input = extent_of_functions();
	struct image image;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: guard_work build|same|warm|cold\n");
		return 2;
	}
	err = guard_build(&section, &input, &image);
	if (err == 0) {
		printf("%" PRIu64 " rows, %u bytes\n", image.stats.n_rows,
		       image.n_cells * DP_CELL_SIZE);
		if (strcmp(argv[1], "build") != 0)
			err = run_walks(&image, &input, argv[1]);
		image_done(&image);
	}
	if (err < 0)
		fprintf(stderr, "guard_work: %s\n", strerror(-err));
	return err < 0;
}
