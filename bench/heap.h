/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BENCH_HEAP_H
#define DP_BENCH_HEAP_H

#include <stddef.h>

/*
 * How much heap memory code takes. The linker sends the calls of malloc() and
 * its kin to the functions in heap.c (ld's --wrap; meson.build lists them), from
 * all that is linked statically: the modules of dwarfprof, but not shared
 * libraries. For one thread.
 */

/* Count from here on. */
void heap_start(void);

/*
 * Count no longer. Returns the most bytes that were in use at the same time
 * beyond what there was at the start, as the allocator rounds them up.
 */
size_t heap_stop(void);

#endif
