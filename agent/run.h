/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_RUN_H
#define DP_AGENT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/interval.h"
#include "profiler/profiler_options.h"
#include "profiler/profiler_usage.h"
#include "symbols/names.h"

struct cpu_budget_counts;
struct debug_queue_counts;
struct pulls;

/*
 * A run of the profiler, in its own thread, which divides time into intervals. When options change, a new run takes
 * over from the old one without a gap (run_take_over()).
 */
struct run;

/* Outputs with intervals of the same length. */
struct track_options {
	const struct interval_output *outputs;
	size_t n;
	uint64_t interval_ns;
	bool is_labelled; /* with the labels of processes */
};

/* For a store, backends, a recent flame graph: in this order. */
#define RUN_TRACKS 3

struct run_options {
	struct profiler_options profiler; /* without names: each run has its own */
	struct names_options names;
	const char *command_line;
	/* The rest is the agent's. */
	struct track_options tracks[RUN_TRACKS];
	struct pulls *pulls;                   /* NULL: none */
	double cpu_share;                      /* of a CPU, for helpers; 0: any */
	uint64_t symbol_memory, string_memory; /* names_set_limits() */
	struct cpu_budget_counts *cpu_counts;
	struct debug_queue_counts *fetched;
	struct interval_counts *counts;
	int event_fd; /* is written to when the state changes */
};

enum run_state {
	RUN_OPENS,
	RUN_SAMPLES,
	RUN_ENDED,
	RUN_FAILED, /* what is wrong has been logged */
};

struct run_figures {
	struct totals totals;
	struct profiler_usage usage;
	struct names_kept kept;
	uint64_t turned_ns; /* when the run last did its work, CLOCK_MONOTONIC */
	bool is_on;         /* has sampled */
	char target[256], event[128];
	unsigned int hz;
};

/* Starts the thread. The options must outlive the run. 0 or a negative errno. */
int run_new(const struct run_options *options, struct run **ret);

enum run_state run_state(const struct run *run);
/* After RUN_FAILED: a negative errno, as of profiler_open() or profiler_attach(). */
int run_error(const struct run *run);
struct run_figures run_figures(struct run *run);

/* Its samples count from now on, and those of `before` (NULL: none) until then. */
void run_take_over(struct run *run, struct run *before);
/* From now on it takes the pulls. */
void run_serve(struct run *run);
/* Ends, with the open interval written: RUN_ENDED. */
void run_end(struct run *run);
/* Stops looking up names, so that it ends soon. */
void run_hurry(struct run *run);

/* Waits for the thread. Accepts NULL. Returns NULL. */
struct run *run_free(struct run *run);

#endif
