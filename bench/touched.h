/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BENCH_TOUCHED_H
#define DP_BENCH_TOUCHED_H

#include <stddef.h>
#include <stdint.h>

/*
 * Counts the distinct cache lines and pages that a walk touches. The walker is compiled so that
 * each access to memory calls a function (touched_walk.c); what is copied from the walked process
 * is noted by the port's reader. Nothing but addresses counts, so the result is the same in each
 * run, on any machine.
 */

#define TOUCHED_LINE_SIZE 64
#define TOUCHED_PAGE_SIZE 4096
#define TOUCHED_MAX_REGIONS 64

/* Added to addresses of the walked process: they are not of this one. */
#define TOUCHED_USER (1ULL << 63)

/* Memory that counts; what lies outside of all regions does not. */
struct touched_region {
	const char *name;
	uint64_t start, size;
};

/* What was touched in a region. A line of two regions belongs to the one that touched it first. */
struct touched_count {
	unsigned int lines, pages;
};

struct walk;

/* Starts to count. The regions must remain valid until touched_end(). */
void touched_begin(const struct touched_region *regions, size_t n);
void touched_note(uint64_t address, size_t size);
/* Ends it. Stores a count for each region. */
void touched_end(struct touched_count *ret_counts);

/* walk_run(), of which each access is noted. */
void touched_walk(struct walk *w);

#endif
