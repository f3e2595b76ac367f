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
 * Threads that are on a CPU all the time: nobody else can know their registers than an
 * interrupt of that CPU. They are sampled for a moment, at a high rate; their samples
 * take their stacks along.
 */
struct running_options {
	const pid_t *tids;
	size_t n_tids;
	enum dp_sides sides;
	uint64_t duration_ns; /* at most */
	const char *btf;      /* a file with the kernel's types (kernel_types.h), or NULL */
};

/*
 * Call fn for their samples, until it returns other than 0, or the time is over. copy: of
 * the stack; NULL: it took none along. Says what is wrong. 0, or a negative errno: of fn,
 * too.
 */
int running_sample(const struct running_options *options,
		   int (*fn)(void *arg, const struct named_sample *sample,
			     const struct stack_copy *copy),
		   void *arg);

#endif
