/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_AGENT_H
#define DP_AGENT_AGENT_H

#include <stdbool.h>

#include "agent/backend.h"
#include "agent/run.h"
#include "agent/store.h"

/* Continuous profiling: `dwarfprof agent`. */

/* Defaults of `dwarfprof agent`; times in ns, sizes in bytes. */
#define AGENT_HZ 19
#define AGENT_INTERVAL_NS UINT64_C(10000000000)
#define AGENT_STORE_SIZE (UINT64_C(1) << 30)
#define AGENT_STORE_AGE_NS UINT64_C(604800000000000)
#define AGENT_DELIVER_NS UINT64_C(60000000000)
#define AGENT_SPOOL_SIZE (UINT64_C(256) << 20)
#define AGENT_LABEL_SETS 500
#define AGENT_MEMORY (UINT64_C(256) << 20)
#define AGENT_NAMES_MEMORY (UINT64_C(32) << 20)

/* The most backends. */
#define AGENT_BACKENDS 8

/* The most backends. */
#define AGENT_BACKENDS 8

struct agent_options {
	struct run_options run; /* without the agent's part */
	const char *store;      /* a directory; NULL: none */
	struct store_limits store_limits;
	uint64_t interval_ns; /* of the store's recordings */
	const struct backend_options *backends;
	size_t n_backends;   /* up to AGENT_BACKENDS */
	uint64_t deliver_ns; /* how often profiles are delivered */
	const char *spool;   /* a directory; NULL: in memory */
	uint64_t spool_size;
	const char *pull; /* where to answer requests (address.h); NULL: nowhere */
	const char *pull_token_file;
	double cpu_share; /* limit for helpers, which read binaries, as a share of a CPU; 0: none */
	uint64_t memory;  /* private bytes above which the profiler is restarted; 0: no limit */
};

enum agent_order { AGENT_NONE, AGENT_END, AGENT_RELOAD };

/* What the agent's owner, a command or a test, does for it. All functions run in agent_run(). */
struct agent_control {
	int fd; /* readable when there is an order */
	enum agent_order (*order)(void *arg);
	/* Returns options, the first or new ones. Logs errors. 0 or a negative errno. */
	int (*load)(void *arg, const struct agent_options **ret);
	/* Takes back options that are no longer used. */
	void (*drop)(void *arg, const struct agent_options *options);
	void *arg;
};

/*
 * Profiles until AGENT_END. Logs errors. Returns an exit code of the program (profiler/record.h).
 */
int agent_run(const struct agent_control *control);

#endif
