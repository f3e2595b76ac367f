/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_TOP_INTERVAL_H
#define DP_TEXT_TOP_INTERVAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "report/profile.h"
#include "text/hot_list.h"

/*
 * What `dwarfprof top` found in one interval, for somebody who looks at it: it depends on nothing else
 * and does not change. Values are events, or nanoseconds.
 */

struct hot_thread {
	UT_hash_handle hh;
	struct hot_thread_key {
		pid_t pid, tid;
	} key;
	char comm[DP_COMM_SIZE + 1]; /* the process's name; names are printable on a terminal */
	char name[DP_COMM_SIZE + 1];
	uint64_t value;
};

struct hot_stack {
	uint64_t value;
	const struct hot_thread *thread;
	size_t leaf; /* as in struct hot_list */
	size_t n;
	const struct hot *functions[]; /* leaf first; a recursive one several times */
};

struct top_interval {
	char *target, *last, *labels; /* lines about it; labels may be "" */
	char *by; /* the key of the label that functions have (hot_describe_label()); "": none */
	uint64_t value; /* what shares are of: all samples, also those without a stack */
	struct hot_list functions;
	struct hot_thread *threads;
	struct hot_stack **stacks;
	size_t n_stacks, stacks_size;
};

/* Who takes the intervals, which then are its own. Called by the thread that makes reports. */
struct top_viewer {
	void (*show)(void *arg, struct top_interval *interval);
	void *arg;
};

/*
 * Makes an interval of a profile that tells threads apart (PROFILE_THREAD), for the report that has
 * its names. The lines are copied. 0 or -ENOMEM.
 */
int top_interval_new(struct report *report, const struct profile *profile, uint64_t value,
		     const char *const lines[3], struct top_interval **ret);
struct top_interval *top_interval_free(struct top_interval *interval);

#endif
