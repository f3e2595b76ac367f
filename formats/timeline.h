/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_TIMELINE_H
#define DP_FORMATS_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "report/frame_values.h"
#include "report/profile.h"
#include "report/report.h"

/*
 * Samples by thread and time, for formats with a timeline. Each takes the size of a moment, half as
 * much again while the array grows, and each distinct stack is stored once: a million samples take
 * some 40 MB and the stacks.
 */

struct moment {
	uint64_t time_ns;
	uint64_t value; /* value_main() of it */
	uint32_t stack; /* by number, see profile_for_each() */
	uint32_t cpu;
};

/* Each of several events has its own timeline: their values have no sum. */
struct thread_id {
	pid_t pid, tid;
	uint32_t event; /* its number; 0 if there is one */
};

struct timeline_thread {
	UT_hash_handle hh;
	struct thread_id id;
	char comm[DP_COMM_SIZE + 1]; /* the last one */
	char name[DP_COMM_SIZE + 1];
	const char *event; /* one of several, the context's; NULL: there is one */
	uint64_t value;    /* of all moments */
	struct moment *moments;
	size_t n, size;
};

struct timeline {
	struct profile *profile;
	struct frame_values values;
	bool has_values; /* set it first: those of calls are no labels of stacks, but are kept */
	struct timeline_thread *threads;
};

/* 0 or -ENOMEM. */
int timeline_init(struct timeline *timeline);
void timeline_done(struct timeline *timeline);

int timeline_add(struct timeline *timeline, const struct report_context *context,
		 const struct sample *sample);

/* Sorts each thread's moments by time, and the threads, busiest first. */
void timeline_sort(struct timeline *timeline);

/*
 * "python3 (PID 42)", for other threads "worker (PID 42, TID 43)"; of several events "python3,
 * page-faults (PID 42)".
 */
#define TIMELINE_NAME_SIZE 96
void timeline_thread_name(const struct timeline_thread *thread, char buffer[TIMELINE_NAME_SIZE]);

#endif
