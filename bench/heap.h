/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BENCH_HEAP_H
#define DP_BENCH_HEAP_H

#include <stddef.h>

/*
 * Measures heap use. The linker redirects calls of malloc() and its relatives to heap.c (ld's
 * --wrap; meson.build has the list) in statically linked code: dwarfprof's modules, not shared
 * libraries. Only for a single thread.
 */

/* Starts counting. */
void heap_start(void);

/* Stops counting. Returns the peak growth in bytes, as rounded up by the allocator. */
size_t heap_stop(void);

#endif
