/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BENCH_MEASURE_H
#define DP_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "tables/image.h"

/* The cost of building a table. */
struct measurement {
	struct image_stats stats;
	size_t image_bytes;
	size_t peak_bytes; /* peak of heap memory, including the image */
	uint64_t fastest_ns, median_ns;
};

/* CPU time of the process so far. */
uint64_t cpu_ns(void);

/*
 * Builds the table `times` times to measure the CPU time, after one run to measure memory. Returns
 * 0, -ENOMEM, or the error of image_build().
 */
int measure_build(const struct cfi_section *section, const struct image_input *input, int times,
		  struct measurement *ret);

#endif
