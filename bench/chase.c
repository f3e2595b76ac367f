// SPDX-License-Identifier: Apache-2.0
/*
 * usage: chase LINES PAGES MIB
 *
 * What it costs to touch so many cache lines on so many pages, as a walk does: each line has the
 * address of the next one, in random order. Writes the median nanoseconds of a pass after MIB of
 * other memory were used, and of one after another: 4 MiB leave little in a core's own caches, 64
 * in the shared one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench/touched.h"
#include "log/clock.h"

#define N_RUNS 41

#define LINES_OF_PAGE (TOUCHED_PAGE_SIZE / TOUCHED_LINE_SIZE)

/* Pages are far apart, so that none is read with its neighbour. */
#define PAGE_DISTANCE 17

/*
 * Each page's lines begin so many after those of the page before. All first lines of pages are in
 * the same set of a cache; an odd distance uses all sets alike.
 */
#define LINE_DISTANCE 37

/* Memory in small pages, as a walk's; NULL without. */
static uint8_t *allocate(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, size, MADV_NOHUGEPAGE); /* fails where there are no others */
	return memory;
}

static uint32_t pick(uint32_t n)
{
	static uint32_t seed = 1;

	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* Links the lines, spread evenly over the pages, and returns the first one. */
static void **link_lines(uint8_t *memory, uint32_t n_lines, uint32_t n_pages)
{
	void **at = NULL, **first = NULL;
	uint32_t *order = calloc(n_lines, sizeof(*order));

	for (uint32_t i = 0; order && i < n_lines; i++) {
		uint32_t j = pick(i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (uint32_t i = 0; order && i < n_lines; i++) {
		uint32_t page = order[i] % n_pages;
		uint32_t line = (order[i] / n_pages + page * LINE_DISTANCE) % LINES_OF_PAGE;
		void **next = (void **)(void *)(memory +
						(size_t)page * PAGE_DISTANCE * TOUCHED_PAGE_SIZE +
						(size_t)line * TOUCHED_LINE_SIZE);

		if (at)
			*at = (void *)next;
		else
			first = next;
		at = next;
	}
	if (at)
		*at = NULL;
	free(order);
	return first;
}

static uint64_t chase(void **volatile first)
{
	uint64_t start = clock_now_ns();

	for (void **volatile at = first; at; at = *at)
		;
	return clock_now_ns() - start;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint64_t measure(void **first, uint8_t *other, size_t size)
{
	uint64_t ns[N_RUNS];

	for (int i = 0; i < N_RUNS; i++) {
		for (size_t at = 0; at < size; at += TOUCHED_LINE_SIZE)
			other[at]++;
		ns[i] = chase(first);
	}
	qsort(ns, N_RUNS, sizeof(*ns), compare_numbers);
	return ns[N_RUNS / 2];
}

int main(int argc, char **argv)
{
	uint32_t n_lines = argc == 4 ? (uint32_t)atoi(argv[1]) : 0;
	uint32_t n_pages = argc == 4 ? (uint32_t)atoi(argv[2]) : 0;
	size_t size = argc == 4 ? (size_t)atoi(argv[3]) << 20 : 0;
	uint8_t *memory, *other;
	void **first;

	if (n_pages == 0 || n_lines < n_pages || n_lines > n_pages * LINES_OF_PAGE) {
		fprintf(stderr, "usage: chase LINES PAGES MIB, at most %d lines per page\n",
			LINES_OF_PAGE);
		return 2;
	}
	memory = allocate((size_t)n_pages * PAGE_DISTANCE * TOUCHED_PAGE_SIZE);
	other = allocate(size + 1);
	first = memory && other ? link_lines(memory, n_lines, n_pages) : NULL;
	if (first)
		printf("%" PRIu64 "\t%" PRIu64 "\n", measure(first, other, size),
		       measure(first, other, 0));
	return first ? 0 : -ENOMEM;
}
