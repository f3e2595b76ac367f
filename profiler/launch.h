/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_LAUNCH_H
#define DP_PROFILER_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A command to profile. It is forked at once, and executed when the profiler is ready. If the
 * profiler dies before that, the child exits.
 */
struct launch {
	const char *name; /* argv[0] */
	pid_t pid;
	int go;           /* a byte written here makes the child exec */
	int failed;       /* the child writes the errno of a failed exec here */
	uint64_t told_ns; /* when launch_end() told it to end; 0: it was not */
	bool is_refused;  /* we may not send it signals */
	bool is_killed;   /* it did not end, and got SIGKILL */
	bool has_died;    /* from one of these signals */
};

/*
 * Forks. mask: the child's signal mask; NULL: unchanged. In this process SIGCHLD gets its default
 * action; the child keeps the inherited one. 0 or a negative errno.
 */
int launch_start(char **argv, const sigset_t *mask, struct launch *ret);

/*
 * Lets the child exec. Returns 0, or the negative errno of exec. The child then exits like a shell:
 * 127 if the command does not exist, else 126. -EPIPE: it has ended before.
 */
int launch_go(struct launch *launch);

/* Has the child not ended yet? */
bool launch_runs(const struct launch *launch);

/* How long a child that was told to end may take, before it is killed. */
#define LAUNCH_GRACE_NS UINT64_C(5000000000)

/*
 * Tells the child to end, but not its children: SIGTERM, once, and only if it runs. If it may not be
 * sent signals, that is logged.
 */
void launch_end(struct launch *launch);

/*
 * Waits for the child's end. One that was told to end gets SIGKILL here when its time is over, or at
 * once when SIGINT or SIGTERM comes. Returns its exit code, 128 plus the signal that killed it, or a
 * negative errno.
 */
int launch_wait(struct launch *launch);

/* Ends a child that has not executed yet, and closes the descriptors. */
void launch_done(struct launch *launch);

#endif
