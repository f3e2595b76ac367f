/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_UNIT_H
#define DP_REPORT_UNIT_H

#include "report/profile.h"
#include "report/report.h"

/*
 * What viewers with a notion of time are told of a sample: how long it stands for, in
 * nanoseconds, or, where events are no time, how many of them.
 */

static inline bool unit_is_time(const struct report_context *context)
{
	return context->time || context->hz > 0;
}

/* Nanoseconds of one event; 1 where it is the values that are times, or nothing is. */
static inline uint64_t unit_scale(const struct report_context *context)
{
	return context->time || context->hz == 0 ? 1 : 1000000000 / context->hz;
}

static inline uint64_t unit_value(const struct report_context *context, const struct sample *sample)
{
	return sample->weight * (context->time ? sample->value_ns : unit_scale(context));
}

static inline uint64_t unit_stack_value(const struct report_context *context,
					const struct stack *stack)
{
	return context->time ? stack->time_ns : stack->count * unit_scale(context);
}

static inline uint64_t unit_lost(const struct report_context *context, const struct totals *totals)
{
	return context->time ? totals->lost_ns : totals->lost * unit_scale(context);
}

#endif
