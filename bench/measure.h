/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BENCH_MEASURE_H
#define DP_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "tables/image.h"

/* What it takes to make a table. */
struct measurement {
	struct image_stats stats;
	size_t image_bytes;
	size_t peak_bytes; /* of heap memory at the same time, the image among it */
	uint64_t fastest_ns, median_ns;
};

/* CPU time of the process so far. */
uint64_t cpu_ns(void);

/*
 * Build the table so many times for the CPU time, and before that once for the
 * memory. Returns 0, or what image_build() returns, or -ENOMEM.
 */
int measure_build(const struct cfi_section *section, const struct image_extent *extent, int times,
		  struct measurement *ret);

#endif
