/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_FRAME_REGISTRY_H
#define DP_PROCESS_FRAME_REGISTRY_H

#include <stdint.h>

#include "elf/frame_lists.h"

struct process;
struct process_table;

/*
 * The unwind information that a process has given to its libgcc, by __register_frame() and its sisters. Up to
 * GCC 12, libgcc keeps lists of objects; since 13, a tree by address, which nobody locks to read. What is read
 * counts only if it is as libgcc makes it, down to a CIE.
 */

/* Nonzero ends the search, and is its result. */
typedef int (*frame_registry_fn)(void *arg, uint64_t object, uint64_t eh_frame);

/*
 * Calls a function with each object and its .eh_frame, some more than once. The words' addresses are those in the
 * process less `bias`. 0; -ESTALE: it is changing; -E2BIG: it does not end; -ETIMEDOUT: it has not by `until`
 * (CLOCK_MONOTONIC, in ns); or an error of jit_copy_bytes().
 */
int frame_registry_each(struct process_table *table, const struct process *process,
			const struct frame_lists *lists, uint64_t bias, uint64_t until,
			frame_registry_fn fn, void *arg);

/*
 * The size of an .eh_frame in the process's memory, with the zero that ends it. -E2BIG: it has more than `max`
 * bytes; -EBADMSG; or as above.
 */
int frame_registry_measure(struct process_table *table, const struct process *process,
			   uint64_t eh_frame, uint64_t max, uint64_t *ret);

#endif
