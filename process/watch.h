/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_WATCH_H
#define DP_PROCESS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct loop;

/*
 * Which of the processes and threads that were asked for still run: when none
 * does, sampling ends. Processes wake a loop; threads, for which the kernel has
 * such descriptors only since 6.9, are looked at.
 */
struct watch {
	struct loop *loop; /* the caller's */
	int *pidfds;
	size_t n_pidfds, pidfds_size;
	struct watched_thread *threads;
	size_t n_threads, threads_size;
	size_t n_running; /* of both */
	uint64_t looked;  /* when, at the threads */
};

void watch_init(struct watch *watch, struct loop *loop);
void watch_done(struct watch *watch);

/* Those that are gone already are left out. 0 or a negative errno. */
int watch_add_process(struct watch *watch, pid_t pid);
int watch_add_thread(struct watch *watch, pid_t tid);

/*
 * A thread that has ended, once; 0: no other one. Call it as often as you
 * like, until it says 0; it looks some times a second.
 */
pid_t watch_ended_thread(struct watch *watch, uint64_t now);

#endif
