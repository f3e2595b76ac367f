// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "bench/heap.h"

uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int measure_memory(const struct cfi_section *section, const struct image_input *input,
			  struct measurement *ret)
{
	struct image image;
	int err;

	heap_start();
	err = image_build(section, input, &image);
	ret->peak_bytes = heap_stop();
	if (err < 0)
		return err;
	ret->stats = image.stats;
	ret->image_bytes = (size_t)image.n_cells * DP_CELL_SIZE;
	image_done(&image);
	return 0;
}

int measure_build(const struct cfi_section *section, const struct image_input *input, int times,
		  struct measurement *ret)
{
	_cleanup_free_ uint64_t *ns = calloc((size_t)times, sizeof(*ns));
	int err = ns ? measure_memory(section, input, ret) : -ENOMEM;

	if (err < 0)
		return err;
	for (int i = 0; i < times; i++) {
		struct image image;
		uint64_t start = cpu_ns();

		err = image_build(section, input, &image);
		if (err < 0)
			return err;
		ns[i] = cpu_ns() - start;
		image_done(&image);
	}
	qsort(ns, (size_t)times, sizeof(*ns), compare_numbers);
	ret->fastest_ns = ns[0];
	ret->median_ns = ns[times / 2];
	return 0;
}
