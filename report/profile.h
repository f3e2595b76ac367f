/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_PROFILE_H
#define DP_REPORT_PROFILE_H

#include "sample.h"

/* Samples counted by stack: what the formats that show totals are made from. */

struct stack_frame {
	struct module *module; /* NULL: not in a known binary */
	uint64_t address;      /* in the module, or in the process where there is none */
	uint64_t method;       /* enum dp_method */
};

struct stack {
	const char *comm;
	enum dp_outcome outcome;
	const struct stack_frame *user; /* leaf first */
	size_t n_user;
	const __u64 *kernel; /* leaf first */
	size_t n_kernel;
	uint64_t count;
};

struct profile;

int profile_new(struct profile **ret);
struct profile *profile_free(struct profile *profile);

/* Count a sample. 0 or -ENOMEM. */
int profile_add(struct profile *profile, const struct sample *sample);

/* Call fn for every distinct stack, in the order of first appearance, until it returns other than 0. */
int profile_for_each(const struct profile *profile, int (*fn)(const struct stack *, void *),
		     void *arg);

/* A frame of a stack in the form that frame_label() takes. */
struct frame stack_frame_unpack(const struct stack_frame *frame);

#endif
