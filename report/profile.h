/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_PROFILE_H
#define DP_REPORT_PROFILE_H

#include "report/sample.h"

/* Samples counted by stack: what the formats that show totals are made from. */

struct stack_frame {
	struct module *module; /* NULL: not in a known binary */
	uint64_t address;      /* in the module, or in the process where there is none */
	uint64_t method;       /* enum dp_method */
};

/* What a stack is counted apart by, beside its process's name, its outcome and its state. */
enum profile_labels {
	PROFILE_THREAD = 1, /* process and thread, and the thread's name */
	PROFILE_CPU = 2,
	PROFILE_LINES = 4,  /* nothing to count by: files and lines will be asked for */
	PROFILE_LABELS = 8, /* those of its label set */
};

struct stack {
	/* What all its samples have in common. What does not count is 0, "", or NULL; so are its frames. */
	struct sample common;
	const struct stack_frame *user; /* leaf first */
	size_t n_user;
	const __u64 *kernel; /* leaf first */
	size_t n_kernel;
	uint64_t count;   /* of events */
	uint64_t time_ns; /* of all these */
};

/* Is it one of threads that were blocked? */
static inline bool stack_is_off_cpu(const struct stack *stack)
{
	return stack->common.event == DP_EVENT_OFF_CPU;
}

struct profile;

/* `counted`: enum profile_labels, or'ed; 0: none. */
int profile_new(unsigned int counted, struct profile **ret);
struct profile *profile_free(struct profile *profile);

/*
 * Count a sample. The names of a new stack are looked up at once, as its binaries may be
 * closed by the end of a long run. 0 or -ENOMEM.
 */
int profile_add(struct profile *profile, const struct sample *sample);

/*
 * The same, and which of the distinct stacks it has, counted from 0 in the order in which
 * profile_for_each() has them.
 */
int profile_add_numbered(struct profile *profile, const struct sample *sample, uint32_t *ret);

/* How many distinct stacks there are. */
size_t profile_n_stacks(const struct profile *profile);

/* Call fn for every distinct stack, in the order of first appearance, until it returns other than 0. */
int profile_for_each(const struct profile *profile, int (*fn)(const struct stack *, void *),
		     void *arg);

/* A frame of a stack in the form that frame_label() takes. */
struct frame stack_frame_unpack(const struct stack_frame *frame);

#endif
