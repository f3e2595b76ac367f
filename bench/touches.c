// SPDX-License-Identifier: Apache-2.0
/*
 * usage: touches RECORDING...
 *
 * The distinct cache lines and pages that the walk of one sample touches. Walks recorded stacks of
 * real programs (recorded.h) in user space and counts (touched.h): `first` with nothing kept from
 * the walks before, `next` with what they have left. Writes tab-separated lines: recording, state,
 * what was touched, median lines and pages of a sample, mean lines and pages, median frames, mean
 * reads of the stack, most cost of a walk as the walker counts it. None may come near WALK_MAX_COST.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/recorded_tables.h"
#include "bench/touched.h"
#include "bpf/walk.h"
#include "kernel/pool.h"

#define STACK 0x7fff00000000ULL
#define CODE(binary) (0x550000000000ULL + ((uint64_t)(binary) << 32))

/* Programs like these are far from the limit. */
#define MOST_COST (WALK_MAX_COST / 3)

/* The page in front of a mapping's start has its cookie, like the first page of a file. */
#define COOKIE_BELOW 0xd00

/* Where a CPU's first walk lies in a page: behind the head of its map (struct bpf_array). */
#define WALK_AT 320

/* The process that is walked. */
struct world {
	struct port_user port;
	const struct recording *recording;
	struct pool pool;
	uint32_t snapshot_cell;
	uint8_t *stack;
	struct walk *walk;
	struct touched_region regions[TOUCHED_MAX_REGIONS];
	size_t n_regions;
};

static int add_segment(void *unused, uint32_t index, uint8_t **ret)
{
	(void)unused;
	(void)index;
	*ret = aligned_alloc(TOUCHED_PAGE_SIZE, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	if (!*ret)
		return -ENOMEM;
	memset(*ret, 0, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	return 0;
}

/* Cookies are 0, and every address follows a call. */
static int read_memory(struct port_user *port, void *dst, uint32_t size, uint64_t address)
{
	static const uint8_t call[8] = { 0, 0, 0, 0xe8 };
	const struct world *w = (const struct world *)port;
	bool is_cookie = false;

	touched_note(TOUCHED_USER + address, size);
	touched_note((uintptr_t)dst, size);
	if (address >= STACK && address + size <= STACK + RECORDED_STACK_SIZE) {
		memcpy(dst, w->stack + (address - STACK), size);
		return 0;
	}
	for (unsigned int i = 0; i < w->recording->n_binaries; i++)
		is_cookie |= address == CODE(i) + w->recording->binaries[i].start - COOKIE_BELOW;
	memset(dst, 0, size);
	if (!is_cookie && size == sizeof(call))
		memcpy(dst, call, sizeof(call));
	return 0;
}

/* Makes and loads a binary's table. */
static int load_table(struct world *w, unsigned int number, uint32_t *ret_cell)
{
	struct image image;
	int err = recorded_table(w->recording, number, &image);

	if (err < 0)
		return err;
	err = pool_alloc(&w->pool, image.n_cells, ret_cell);
	if (err == 0)
		pool_write(&w->pool, *ret_cell, image.cells, image.n_cells);
	image_done(&image);
	return err;
}

static int load_mappings(struct world *w)
{
	size_t n = w->recording->n_binaries;
	uint32_t n_cells = (uint32_t)((sizeof(struct dp_snapshot) + n * sizeof(struct dp_mapping)) /
				      DP_CELL_SIZE);
	struct dp_mapping m;
	int err = pool_alloc_snapshot(&w->pool, n_cells, &w->snapshot_cell);

	for (unsigned int i = 0; i < n && err == 0; i++) {
		const struct recorded_binary *b = &w->recording->binaries[i];

		m = (struct dp_mapping){ .start = CODE(i) + b->start,
					 .end = CODE(i) + b->start + b->size,
					 .bias = CODE(i),
					 .image = DP_CELL_NONE };
		if (b->has_table) {
			m.cookie_below = COOKIE_BELOW;
			err = load_table(w, i, &m.image);
		}
		pool_write(&w->pool, dp_mapping_cell(w->snapshot_cell, i + 1), &m,
			   sizeof(m) / DP_CELL_SIZE);
	}
	return err;
}

static void add_region(struct world *w, const char *name, uint64_t start, uint64_t size)
{
	if (w->n_regions == TOUCHED_MAX_REGIONS)
		abort();
	w->regions[w->n_regions++] = (struct touched_region){ name, start, size };
}

static void add_regions(struct world *w)
{
	struct walk *walk = w->walk;

#define MEMBER(name) add_region(w, "walk." #name, (uintptr_t)&walk->name, sizeof(walk->name))
	MEMBER(world);
	MEMBER(in);
	MEMBER(at);
	MEMBER(mapped);
	MEMBER(memo);
	MEMBER(search);
	MEMBER(program);
	MEMBER(stack);
	MEMBER(out);
	MEMBER(labels);
	MEMBER(trail);
	MEMBER(cache);
	MEMBER(rules);
#undef MEMBER
	for (size_t i = 0; i < w->pool.n_segments; i++)
		add_region(w, w->pool.uses[i] == POOL_TABLES ? "tables" : "mappings",
			   (uintptr_t)w->pool.segments[i], DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	add_region(w, "user's stack", TOUCHED_USER + STACK, RECORDED_STACK_SIZE);
	add_region(w, "user's other memory", TOUCHED_USER, TOUCHED_USER);
}

static int world_init(struct world *w, const struct recording *recording)
{
	uint8_t *memory = aligned_alloc(TOUCHED_PAGE_SIZE, (WALK_AT + sizeof(struct walk)) /
									   TOUCHED_PAGE_SIZE *
									   TOUCHED_PAGE_SIZE +
								   TOUCHED_PAGE_SIZE);
	int err;

	w->recording = recording;
	w->stack = calloc(1, RECORDED_STACK_SIZE);
	if (!memory || !w->stack)
		return -ENOMEM;
	w->walk = (struct walk *)(void *)(memory + WALK_AT);
	pool_init(&w->pool, add_segment, NULL);
	err = load_mappings(w);
	if (err < 0)
		return err;
	w->port = (struct port_user){ .read = read_memory,
				      .segments = w->pool.segments,
				      .n_segments = (uint32_t)w->pool.n_segments };
	add_regions(w);
	return 0;
}

static void world_done(struct world *w)
{
	for (size_t i = 0; i < w->pool.n_segments; i++)
		free(w->pool.segments[i]);
	pool_done(&w->pool);
	free(w->stack);
	if (w->walk)
		free((uint8_t *)w->walk - WALK_AT);
}

/* Nothing is kept from the walks before. */
static void forget(struct world *w)
{
	memset(w->walk, 0, sizeof(*w->walk));
	w->walk->world.user = &w->port;
	w->walk->in.snapshot_cell = w->snapshot_cell;
	w->walk->in.unwind = DP_UNWIND_AUTO;
	w->walk->in.max_frames = DP_MAX_FRAMES;
}

static void poke(struct world *w, uint64_t offset, uint64_t value)
{
	if (offset <= RECORDED_STACK_SIZE - sizeof(value))
		memcpy(w->stack + offset, &value, sizeof(value));
}

static uint64_t address_of(const struct recorded_frame *f)
{
	return CODE(f->binary) + f->address;
}

/* Lays out a sample's stack, and its registers. */
static void lay_out(struct world *w, const struct recorded_sample *s)
{
	const struct recorded_frame *f = &w->recording->frames[s->first];
	uint64_t cfa = s->sp;
	struct dp_regs *regs = &w->walk->in.regs;

	memset(regs, 0, sizeof(*regs));
	regs->reg[DP_REG_PC] = address_of(f);
	regs->reg[DP_REG_SP] = STACK + s->sp;
	regs->reg[DP_REG_FP] = f->fp ? STACK + f->fp : 0;
	w->walk->in.in_syscall = s->in_syscall;
	for (size_t i = 0; i + 1 < s->n_frames; i++, f++) {
		cfa += f->size;
		poke(w, cfa - 8, address_of(f + 1));
		if (f->below > 0)
			poke(w, cfa - 8 - 8 * (uint64_t)f->below, f[1].fp ? STACK + f[1].fp : 0);
	}
}

static void set_process(struct world *w, uint64_t id)
{
	struct dp_snapshot snapshot = { .id = id,
					.memory_map = id,
					.n_mappings = (uint32_t)w->recording->n_binaries };

	pool_write(&w->pool, w->snapshot_cell, &snapshot, sizeof(snapshot) / DP_CELL_SIZE);
	w->walk->in.snapshot = id;
	w->walk->in.memory_map = id;
}

/* The walk has found what was recorded. */
static bool is_as_recorded(const struct world *w, const struct recorded_sample *s)
{
	if (w->walk->out.sample.outcome != DP_COMPLETE || w->walk->at.n_frames != s->n_frames)
		return false;
	for (uint32_t i = 0; i < s->n_frames; i++)
		if (DP_FRAME_ADDRESS(walk_trail(w->walk, i)->frame) !=
		    address_of(&w->recording->frames[s->first + i]))
			return false;
	return true;
}

/* Walks a sample. 0, or -EBADMSG if that does not give the recorded frames. */
static int count(struct world *w, const struct recorded_sample *s, struct touched_count *ret)
{
	lay_out(w, s);
	set_process(w, 1 + s->process);
	touched_begin(w->regions, w->n_regions);
	/* The program compares these before the walk. */
	touched_note((uintptr_t)port_pool(w->walk, w->snapshot_cell), sizeof(struct dp_snapshot));
	touched_walk(w->walk);
	touched_end(ret);
	return is_as_recorded(w, s) ? 0 : -EBADMSG;
}

static int compare_numbers(const void *a, const void *b)
{
	const unsigned int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(unsigned int *numbers, size_t n)
{
	const size_t lower = (n - 1) / 2, upper = n / 2;

	qsort(numbers, n, sizeof(*numbers), compare_numbers);
	return (double)(numbers[upper] + numbers[lower]) / 2;
}

static double mean(const unsigned int *numbers, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += numbers[i];
	return sum / (double)n;
}

/* Prints what was touched in the regions of a name; NULL: in all. */
static void print_counts(const struct world *w, const char *head, const char *name,
			 const struct touched_count *counts, const unsigned int *reads,
			 uint32_t cost)
{
	size_t n = w->recording->n_samples;
	_cleanup_free_ unsigned int *lines = calloc(n, sizeof(*lines));
	_cleanup_free_ unsigned int *pages = calloc(n, sizeof(*pages));
	_cleanup_free_ unsigned int *frames = calloc(n, sizeof(*frames));

	if (!lines || !pages || !frames)
		abort();
	for (size_t i = 0; i < n; i++)
		frames[i] = (unsigned int)w->recording->samples[i].n_frames;
	for (size_t i = 0; i < n * w->n_regions; i++) {
		if (name && strcmp(w->regions[i % w->n_regions].name, name) != 0)
			continue;
		lines[i / w->n_regions] += counts[i].lines;
		pages[i / w->n_regions] += counts[i].pages;
	}
	printf("%s\t%s\t%g\t%g", head, name ? name : "all", median(lines, n), median(pages, n));
	printf("\t%.2f\t%.2f\t%g", mean(lines, n), mean(pages, n), median(frames, n));
	printf("\t%.2f\t%" PRIu32 "\n", mean(reads, n), cost);
}

static int measure(struct world *w, const char *name, bool is_first)
{
	size_t n = w->recording->n_samples;
	_cleanup_free_ struct touched_count *counts = calloc(n * w->n_regions, sizeof(*counts));
	_cleanup_free_ unsigned int *reads = calloc(n, sizeof(*reads));
	uint32_t cost = 0;
	char head[256];

	if (!counts || !reads)
		return -ENOMEM;
	forget(w);
	for (size_t i = 0; i < n; i++) {
		if (is_first)
			forget(w);
		if (count(w, &w->recording->samples[i], &counts[i * w->n_regions]) < 0) {
			fprintf(stderr, "%s: sample %zu differs: %u frames\n", name, i,
				w->walk->at.n_frames);
			return -EBADMSG;
		}
		reads[i] = w->walk->at.n_pages;
		cost = w->walk->at.cost > cost ? w->walk->at.cost : cost;
	}
	if (cost > MOST_COST) {
		fprintf(stderr, "%s: a walk has cost %" PRIu32 "\n", name, cost);
		return -EBADMSG;
	}
	snprintf(head, sizeof(head), "%s\t%s", name, is_first ? "first" : "next");
	print_counts(w, head, NULL, counts, reads, cost);
	for (size_t i = 0; i < w->n_regions; i++)
		if (i == 0 || strcmp(w->regions[i].name, w->regions[i - 1].name) != 0)
			print_counts(w, head, w->regions[i].name, counts, reads, cost);
	return 0;
}

static int measure_recording(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct world w = { 0 };
	struct recording recording;
	int err = recording_read(path, &recording);

	if (err < 0)
		return err;
	err = world_init(&w, &recording);
	for (int is_first = 1; is_first >= 0 && err == 0; is_first--)
		err = measure(&w, slash ? slash + 1 : path, is_first);
	world_done(&w);
	recording_done(&recording);
	return err;
}

int main(int argc, char **argv)
{
	int err = argc < 2 ? -EINVAL : 0;

	printf("recording\tstate\ttouched\tlines\tpages\tmean lines\tmean pages\tframes\t"
	       "mean reads\tmost cost\n");
	for (int i = 1; i < argc && err == 0; i++) {
		err = measure_recording(argv[i]);
		if (err < 0)
			fprintf(stderr, "touches: %s: %s\n", argv[i], strerror(-err));
	}
	if (argc < 2)
		fprintf(stderr, "usage: touches RECORDING...\n");
	return err < 0;
}
