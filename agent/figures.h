/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_FIGURES_H
#define DP_AGENT_FIGURES_H

#include "agent/agent.h"
#include "agent/left_spools.h"
#include "agent/recent.h"
#include "agent/run.h"
#include "agent/store.h"

/* The agent's own metrics: totals over all its runs, and the state of the current one. */
struct figures {
	struct totals totals;
	struct run_figures run;
	uint64_t started_real_ns; /* when the agent began */
	uint64_t intervals_written, intervals_failed;
	int store_err; /* the last one, negative, and when */
	uint64_t store_failed_real_ns;
	uint64_t processes_unlabelled; /* that ended before their cgroup was read */
	bool has_store;
	struct store_state store;
	struct {
		char name[256];
		struct backend_counts counts;
	} backends[AGENT_BACKENDS];
	size_t n_backends;
	struct left_counts left;
	uint64_t reloads, reloads_failed; /* by SIGHUP */
	int reload_err;                   /* the last one, negative, and when */
	uint64_t reload_failed_real_ns;
	uint64_t renewals; /* of the profiler, because of --memory */
	uint64_t rate_lowered, rate_raised;
	unsigned int asked_hz; /* the rate in the options; 0: they have none */
	double cpu_share;      /* of --cpu-budget; 0: none */
	uint64_t helpers_spent_ns,
		helpers_waited_ns; /* CPU time used, and time waited for it (cpu_budget.h) */
	uint64_t helpers_refused;  /* look-ups of names refused in favour of other users */
	const struct debug_queue_counts *fetched; /* of --debuginfod; NULL: it is off */
	uint64_t memory_limit;                    /* 0: none */
	struct recent_counts recent;
	bool is_healthy;
	char host[65], kernel[192];
};

/* Sets what never changes: the machine, and now as the agent's start. */
void figures_begin(struct figures *figures);
/* Everything as OpenMetrics text (https://openmetrics.io, version 1.0). */
void figures_write_metrics(const struct figures *figures, FILE *to);
/* A page for people, which loads nothing. */
void figures_write_page(const struct figures *figures, FILE *to);

#endif
