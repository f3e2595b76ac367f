/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_PROC_STAT_H
#define DP_KERNEL_PROC_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What /proc/PID/stat tells (proc(5)). */
struct proc_stat {
	pid_t pid, parent;
	char state;       /* the letter */
	bool exited;      /* waits to be reaped, or, as a process's first thread, for the others */
	uint64_t started; /* CLOCK_BOOTTIME ns, rounded down to 10 ms or so */
};

/* 0, -ESRCH if there is no such process, or another errno. Takes threads, too. */
int proc_stat_read(pid_t pid, struct proc_stat *ret);

/* All processes that there are, in an array that the caller frees. 0 or a negative errno. */
int proc_stat_read_all(struct proc_stat **ret, size_t *ret_n);

/*
 * A thread of a process that runs, through which /proc shows the process: the
 * first thread, unless that has exited before the others. 0: none runs.
 */
pid_t proc_stat_live_thread(pid_t pid);

#endif
