/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_THREAD_SET_H
#define DP_PROFILER_THREAD_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "process/process_table.h"
#include "sandbox/process_memory.h"
#include "samples/thread_reader.h"
#include "samples/thread_snapshot.h"
#include "samples/unwinder.h"

struct profiler_options;

/*
 * Threads of several processes whose stacks are taken as they are now: for `dump`, and of those
 * that are blocked when sampling begins (resting.h).
 */
struct thread_set {
	const struct profiler_options *options;
	bool is_hidden; /* kernel stacks are wanted, but the kernel hides its addresses */
	struct thread_reader reader;
	/* The caller's, set before threads are added */
	struct process_table *table;
	struct unwinder *unwinder;
	struct process_memory memory;
	bool has_runtimes;          /* read the frames of runtimes, too */
	struct thread_snapshot *of; /* one per process, and one of the kernel's threads */
	size_t n, size;
};

/*
 * Loads the program that reads threads. The options must outlive the set. Logs errors. 0, -EPERM if
 * a permission is missing, or another negative errno.
 */
int thread_set_open(struct thread_set *ret, const struct profiler_options *options);

/*
 * Adds a process of the table with its present mappings, and without threads; NULL: the kernel.
 * *ret is valid until the next one is added. 0, -ENOMEM, or -ENOSPC if there is no room for the
 * mappings.
 */
int thread_set_add(struct thread_set *set, struct process *process, struct thread_snapshot **ret);

/* Finds the threads: all of the process, or those that options name. See thread_snapshot_find(). */
int thread_set_find(const struct thread_set *set, struct thread_snapshot *threads);

/* Takes the present mappings for stacks that are still to be taken. 0 or as thread_set_add(). */
int thread_set_renew(struct thread_set *set, struct thread_snapshot *threads);

void thread_set_drop_last(struct thread_set *set);

/* Drops all. May be called for one that was never opened. */
void thread_set_close(struct thread_set *set);

#endif
