/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_NEEDS_H
#define DP_PROFILER_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/session_options.h"

struct profiler_options;

/*
 * What the events of a run need, and what their samples are: the fields of all their sources
 * (event.h) as one. The session and the profiler read this, and do not ask which events there are.
 */
struct needs {
	struct session_needs session;
	unsigned int states;   /* the default states of sampled blocked threads; 0: none are */
	bool finds_own_frames; /* kernel stacks begin in our program: names tell how far */
	uint64_t cpu_value_ns; /* the time that a CPU sample stands for; 0: it is an event */
	/* As in struct report_context */
	unsigned int hz;
	unsigned int period;
	const char *counts;
};

struct needs needs_of(const struct profiler_options *options);

/* Are all samples taken at a low rate? They can wait to be read. */
bool needs_are_few(const struct needs *needs);

/*
 * How long process records may wait, in ns, to be handled in a batch; 0: not at all. This is for low sampling rates,
 * because a sample of a process whose records still wait costs more.
 */
uint64_t needs_gather_ns(const struct needs *needs);

/* Returns the options of a session on so many CPUs, as far as a run decides them. */
struct session_options needs_session_options(const struct needs *needs,
					     const struct profiler_options *options,
					     unsigned int n_cpus);

#endif
