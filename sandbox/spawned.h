/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_SPAWNED_H
#define DP_SANDBOX_SPAWNED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "sandbox/confine.h"

/* A helper: the socket to talk to it, and what to end it by. */
struct spawned {
	int socket;
	int pidfd;
	pid_t pid;
	struct confinement confinement;
};

void spawned_end(const struct spawned *spawned);
/* The same, but the caller keeps its pidfd. */
void spawned_kill(const struct spawned *spawned);

/* Whether to replace it: too little of CONFINE_CPU_S is left for another request. */
bool spawned_is_worn(const struct spawned *spawned);

/*
 * How long to wait for a helper, measured by its CPU time, as the machine may be busy. Its sleep, such as
 * over a file that is slow to read, counts as well, unless the caller measures time itself. A helper that
 * somebody has stopped is not waited for.
 */
struct patience {
	clockid_t clock; /* of the helper's CPU time */
	uint64_t limit_ns, stopped_ns, look_ns;
	uint64_t
		stuck_ns; /* of sleep without any CPU time, whether that counts or not; 0: no limit */
	bool counts_sleep;
	uint64_t begun, last, since, looked, asleep_ns, idle_ns;
	uint64_t charged_ns; /* since the last look */
};

/* Call patience_look() at least this often (ms); with look_ns set, it may be called more often. */
#define PATIENCE_LOOK_MS 100

/*
 * limit_ns: of CPU time, and sleep if that counts; stopped_ns: of time without any. -ECONNABORTED: it
 * has ended.
 */
int patience_begin(const struct spawned *spawned, uint64_t limit_ns, uint64_t stopped_ns,
		   bool counts_sleep, struct patience *ret);
/* 0, -ETIME: it takes too long; -ETIMEDOUT: it is stuck; or -ECONNABORTED: it has ended or is stopped. */
int patience_look(struct patience *patience, const struct spawned *spawned);
/* Counts time for which the helper has waited for this process. */
void patience_charge(struct patience *patience, uint64_t ns);
/* The time counted against limit_ns so far; for a helper that has ended, up to the last look. */
uint64_t patience_spent(const struct patience *patience);
/* The helper's CPU time since it was begun, up to the last look if it has ended. */
uint64_t patience_cpu_ns(const struct patience *patience);

#endif
