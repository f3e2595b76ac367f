// SPDX-License-Identifier: Apache-2.0
#include "bench/touched.h"

#include <stdlib.h>
#include <string.h>

/* Room for the lines of one walk: many times what a deep one touches. */
#define SET_SIZE (1U << 15)

struct set {
	uint64_t numbers[SET_SIZE];
	unsigned int rounds[SET_SIZE]; /* in which a number was added; others are not in the set */
	unsigned int n;
};

static struct set lines, pages;
static unsigned int round_now;
static const struct touched_region *regions_now;
static size_t n_regions;
static struct touched_count counts[TOUCHED_MAX_REGIONS];

/* Returns 1 if the number is new. */
static unsigned int set_add(struct set *set, uint64_t number)
{
	size_t at = (size_t)(number * 0x9e3779b97f4a7c15ULL >> 32) % SET_SIZE;

	while (set->rounds[at] == round_now && set->numbers[at] != number)
		at = (at + 1) % SET_SIZE;
	if (set->rounds[at] == round_now)
		return 0;
	if (++set->n > SET_SIZE / 2)
		abort();
	set->numbers[at] = number;
	set->rounds[at] = round_now;
	return 1;
}

void touched_begin(const struct touched_region *regions, size_t n)
{
	if (n > TOUCHED_MAX_REGIONS)
		abort();
	round_now++;
	lines.n = pages.n = 0;
	memset(counts, 0, sizeof(counts));
	n_regions = n;
	regions_now = regions;
}

void touched_end(struct touched_count *ret_counts)
{
	memcpy(ret_counts, counts, n_regions * sizeof(*counts));
	n_regions = 0;
}

void touched_note(uint64_t address, size_t size)
{
	for (size_t i = 0; i < n_regions; i++) {
		const struct touched_region *r = &regions_now[i];

		if (address - r->start >= r->size)
			continue;
		for (uint64_t line = address / TOUCHED_LINE_SIZE;
		     line <= (address + size - 1) / TOUCHED_LINE_SIZE; line++) {
			counts[i].lines += set_add(&lines, line);
			counts[i].pages +=
				set_add(&pages, line / (TOUCHED_PAGE_SIZE / TOUCHED_LINE_SIZE));
		}
		return;
	}
}

/*
 * What compilers call before an access of so many bytes, and for what is more than one access. gcc
 * knows the types.
 */
#define HOOK(name, size)                                                                           \
	void name(void *p);                                                                        \
	void name(void *p)                                                                         \
	{                                                                                          \
		touched_note((uintptr_t)p, size);                                                  \
	}
#define HOOKS(size)                                                                                \
	HOOK(__tsan_read##size, size)                                                              \
	HOOK(__tsan_write##size, size)                                                             \
	HOOK(__tsan_read_write##size, size)                                                        \
	HOOK(__tsan_unaligned_read##size, size)                                                    \
	HOOK(__tsan_unaligned_write##size, size)                                                   \
	HOOK(__tsan_unaligned_read_write##size, size)

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

#define RANGE_HOOK(name)                                                                           \
	void name(void *p, long size);                                                             \
	void name(void *p, long size)                                                              \
	{                                                                                          \
		touched_note((uintptr_t)p, (size_t)size);                                          \
	}

RANGE_HOOK(__tsan_read_range)
RANGE_HOOK(__tsan_write_range)

void *__tsan_memcpy(void *dst, const void *src, size_t size);
void *__tsan_memcpy(void *dst, const void *src, size_t size)
{
	touched_note((uintptr_t)src, size);
	touched_note((uintptr_t)dst, size);
	return memcpy(dst, src, size);
}

void *__tsan_memset(void *dst, int value, size_t size);
void *__tsan_memset(void *dst, int value, size_t size)
{
	touched_note((uintptr_t)dst, size);
	return memset(dst, value, size);
}

#define EMPTY_HOOK(name, ...)                                                                      \
	void name(__VA_ARGS__);                                                                    \
	void name(__VA_ARGS__)                                                                     \
	{                                                                                          \
	}

EMPTY_HOOK(__tsan_init, void)
EMPTY_HOOK(__tsan_func_entry, void *caller)
EMPTY_HOOK(__tsan_func_exit, void *unused)
