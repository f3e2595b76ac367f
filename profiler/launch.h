/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_LAUNCH_H
#define DP_PROFILER_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * A command that is started for being profiled: forked at once, executed only
 * when the profiler is ready. If the profiler dies before, so does it.
 */
struct launch {
	pid_t pid;
	int go;     /* one byte written here lets the child execute */
	int failed; /* the child writes errno here if it cannot */
};

/*
 * Fork; the child will have the signal mask given; NULL: the one that there is. In this process SIGCHLD gets
 * its default action, in the child it keeps the one it had. 0 or a negative errno.
 */
int launch_start(char **argv, const sigset_t *mask, struct launch *ret);

/*
 * Let the child execute. 0, or the negative errno of its exec; the child then
 * ends as a shell's would, with 127 if there is no such command, else with 126.
 */
int launch_go(struct launch *launch);

/*
 * Wait for the child to end: its exit code, or 128 plus the signal that ended
 * it; or a negative errno.
 */
int launch_wait(struct launch *launch);

/* End the child if it has not executed yet, and close what is open. */
void launch_done(struct launch *launch);

#endif
