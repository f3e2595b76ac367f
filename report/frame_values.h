/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_FRAME_VALUES_H
#define DP_REPORT_FRAME_VALUES_H

#include "report/label_counts.h"
#include "report/profile.h"
#include "report/value.h"

/*
 * The values of probed calls, counted by the frame that they belong to, for reports that people read: their
 * stacks are counted whatever the values.
 */
struct frame_values {
	struct frame_values_call *calls;
	size_t n; /* different texts */
};

void frame_values_done(struct frame_values *values);

/* Counts those of a sample, by the number of its stack (profile_add_numbered()). 0 or -ENOMEM. */
int frame_values_add(struct frame_values *values, const struct sample *sample, uint32_t stack);

/* A copy of the labels without those that have a frame; NULL: there are none. 0 or -ENOMEM; the caller frees *ret. */
int frame_values_take_away(const struct sample *sample, struct label_set **ret);

/* The values of one function in a view, and how much of its weight has any. */
struct value_texts {
	struct label_counts counts;
	uint64_t all;
};

void value_texts_done(struct value_texts *texts);

/* Adds those of a frame of a stack (struct symbolized_frame), scaled to a value. 0 or -ENOMEM. */
int frame_values_sum(const struct frame_values *values, const struct stack *stack, uint32_t frame,
		     const struct value *value, struct value_texts *to);

/*
 * Writes the heaviest, with their shares: "route=/login 61.2 %, route=/ 20.1 %, and 3 more"; of a single one,
 * no share. "" if there are none.
 */
#define VALUE_TEXTS_SIZE 512
void value_texts_describe(struct value_texts *texts, char buffer[VALUE_TEXTS_SIZE]);

#endif
