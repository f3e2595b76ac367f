/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_PROFILE_H
#define DP_REPORT_PROFILE_H

#include "report/sample.h"

/* Samples counted by stack, for formats that show totals. */

struct stack_frame {
	struct module *module; /* NULL: in no known binary */
	uint64_t address;      /* in the module, else in the process */
	uint64_t method;       /* enum dp_method */
};

/* What stacks are distinguished by, besides the process's name, outcome and state. */
enum profile_labels {
	PROFILE_THREAD = 1, /* process and thread, and the thread's name */
	PROFILE_CPU = 2,
	PROFILE_LINES = 4,    /* not counted by, but files and lines will be needed */
	PROFILE_LABELS = 8,   /* the label set */
	PROFILE_UNNAMED = 16, /* not counted by, but names will not be needed */
};

struct stack {
	/*
	 * Common to all its samples. Fields that do not count are 0, "" or NULL, as are its frames.
	 */
	struct sample common;
	const struct stack_frame *user; /* leaf first */
	size_t n_user;
	const __u64 *kernel; /* leaf first */
	size_t n_kernel;
	uint64_t count;   /* number of events */
	uint64_t time_ns; /* total of these */
	uint32_t number;  /* from 0 in the order of profile_for_each() */
};

/* True for a blocked thread's stack. */
static inline bool stack_is_off_cpu(const struct stack *stack)
{
	return stack->common.event == DP_EVENT_OFF_CPU;
}

struct profile;

/* `counted`: enum profile_labels, or'ed; 0: none. */
int profile_new(unsigned int counted, struct profile **ret);
struct profile *profile_free(struct profile *profile);

/*
 * Counts a sample. Names of a new stack are looked up at once, because its binaries may be closed
 * before the end of a long run. 0 or -ENOMEM.
 */
int profile_add(struct profile *profile, const struct sample *sample);

/*
 * The same, and returns the number of its stack, counted from 0 in the order of profile_for_each().
 */
int profile_add_numbered(struct profile *profile, const struct sample *sample, uint32_t *ret);

/* The number of distinct stacks. */
size_t profile_n_stacks(const struct profile *profile);

/*
 * Calls fn for each distinct stack, in the order of first appearance, until it returns a value
 * other than 0.
 */
int profile_for_each(const struct profile *profile, int (*fn)(const struct stack *, void *),
		     void *arg);

/*
 * What its samples have in common, with their kernel frames and the innermost one of user space, which
 * is put into `leaf`: as much as labels of samples need (own_label.h).
 */
struct sample stack_sample(const struct stack *stack, struct frame *leaf);

/* A frame of a stack in the form that frame_label() takes. */
struct frame stack_frame_unpack(const struct stack_frame *frame);

#endif
