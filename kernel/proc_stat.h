/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_PROC_STAT_H
#define DP_KERNEL_PROC_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The fields of /proc/PID/stat that are used (proc(5)). */
struct proc_stat {
	pid_t pid, parent;
	char state;       /* the letter */
	bool exited;      /* a zombie, or a first thread that exited before the others */
	uint64_t started; /* CLOCK_BOOTTIME ns, rounded down to 10 ms or so */
};

/* Returns 0, -ESRCH if there is no such process or thread, or another negative errno. */
int proc_stat_read(pid_t pid, struct proc_stat *ret);

/* Whether no process or thread, not even a zombie, has this number. Cheaper than proc_stat_read(). */
bool proc_stat_is_gone(pid_t pid);

/* Reads all processes into an array that the caller frees. 0 or a negative errno. */
int proc_stat_read_all(struct proc_stat **ret, size_t *ret_n);

/*
 * Returns a live thread through which /proc shows the process: the first thread, or another one
 * if that has exited. 0 if there is none.
 */
pid_t proc_stat_live_thread(pid_t pid);

#endif
