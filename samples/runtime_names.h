/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_RUNTIME_NAMES_H
#define DP_SAMPLES_RUNTIME_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"

struct frame;
struct process;
struct process_table;
struct runtime_names;

/*
 * The names of the code of runtimes in one process, by runtime, code, tag and position: read from
 * its memory once, by the thread that calls code_source.read(), and given to the struct jit of
 * process->jitted's module, which owns them (code_source.h). Beyond half of the limit of memory for
 * names (jit.h) code is named without positions, and beyond all of it as if it were gone.
 *
 * `layout` is copied for the first frame of its kind (struct runtime_source). NULL: memory is
 * short.
 */
struct runtime_names *runtime_names_find(struct process_table *table, struct process *process,
					 unsigned int kind, const void *layout);

/* The number of a frame's code, for code_source.locate(). Does not read memory. */
uint64_t runtime_names_put(struct runtime_names *names, unsigned int kind,
			   const struct dp_runtime_frame *frame);

/*
 * Whether the code of a frame, with such a number, is to be read before its sample is reported: true once for each
 * number. For the thread that puts.
 */
bool runtime_names_want(const struct frame *frame);

#endif
