/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_WATCH_H
#define DP_PROCESS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct loop;

/*
 * Which of the requested processes and threads still run: sampling ends when none does. Processes
 * wake the loop. Threads, for which the kernel has pidfds only since 6.9, are polled.
 */
struct watch {
	struct loop *loop; /* the caller's */
	int *pidfds;
	size_t n_pidfds, pidfds_size;
	struct watched_thread *threads;
	size_t n_threads, threads_size;
	size_t n_running; /* processes and threads */
	uint64_t looked;  /* when threads were last polled */
};

void watch_init(struct watch *watch, struct loop *loop);
void watch_done(struct watch *watch);

/* Processes that are already gone are ignored. 0 or a negative errno. */
int watch_add_process(struct watch *watch, pid_t pid);
int watch_add_thread(struct watch *watch, pid_t tid);

/*
 * Returns a thread that has ended, each only once, or 0. Call it as often as needed until it
 * returns 0; it polls a few times a second.
 */
pid_t watch_ended_thread(struct watch *watch, uint64_t now);

#endif
