/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_PROC_USAGE_H
#define DP_KERNEL_PROC_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How long a thread has waited for a CPU while it could run. */
struct proc_wait {
	pid_t tid;
	uint64_t ns;
};

/* What a process has used so far, as /proc/PID has it (proc(5)). */
struct proc_usage {
	uint64_t
		started; /* CLOCK_BOOTTIME ns, rounded down: tells processes with the same number apart */
	uint64_t cpu_ns;        /* of all its threads, in ticks of 10 ms or so */
	uint64_t resident;      /* bytes */
	bool has_io;            /* the next two are known: the reader may trace the process */
	uint64_t read, written; /* bytes from and to storage */
	bool has_waits; /* the next ones are known: the kernel counts them, and threads are few enough */
	struct proc_wait *waits; /* of its threads that live, by number */
	size_t n_waits;
};

/* Reads it. 0, -ESRCH if there is no such process, or another negative errno, with nothing to free. */
int proc_usage_read(pid_t pid, struct proc_usage *ret);
void proc_usage_done(struct proc_usage *usage);

/* The total time that threads alive in `now` have waited for a CPU since `before`. */
uint64_t proc_usage_waited(const struct proc_usage *before, const struct proc_usage *now);

#endif
