/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_SPAWNED_H
#define DP_SANDBOX_SPAWNED_H

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

/*
 * How long a helper is waited for. Only CPU time is limited: a file may be slow to read, which the
 * caller notices by the clock, and the machine may be busy. But one that somebody has stopped is not
 * waited for.
 */
struct patience {
	clockid_t clock; /* of the helper's CPU time */
	uint64_t limit_ns, stopped_ns;
	uint64_t begun, last, since;
};

/* At least this often (ms), patience_look() is to be called. */
#define PATIENCE_LOOK_MS 100

/* limit_ns: of CPU time; stopped_ns: of time without any. -ECONNABORTED: it has ended. */
int patience_begin(const struct spawned *spawned, uint64_t limit_ns, uint64_t stopped_ns,
		   struct patience *ret);
/* 0, -ETIME: it takes too long; or -ECONNABORTED: it has ended or is stopped. */
int patience_look(struct patience *patience, const struct spawned *spawned);
/* CPU time so far; what a helper that has ended used since the last look is not known. */
uint64_t patience_spent(const struct patience *patience);

#endif
