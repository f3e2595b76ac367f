/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_RUNNING_H
#define DP_PROFILER_RUNNING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "kernel/ring_record.h"
#include "samples/unwinder.h"

/*
 * Threads that are always on a CPU. Only an interrupt on that CPU can read their registers, so they
 * are sampled at a high rate for a short time, with copies of their stacks.
 */
struct running_options {
	const pid_t *tids;
	size_t n_tids;
	enum dp_sides sides;
	uint64_t duration_ns; /* at most */
	const char *btf;      /* a file with the kernel's types (kernel_types.h), or NULL */
};

/*
 * Calls fn for their samples until it returns nonzero or the time is over. copy: the sample's
 * stack, or NULL if it has none. Logs errors. 0, or a negative errno, also of fn.
 */
int running_sample(const struct running_options *options,
		   int (*fn)(void *arg, const struct named_sample *sample,
			     const struct stack_copy *copy),
		   void *arg);

#endif
