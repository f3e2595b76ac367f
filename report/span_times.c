// SPDX-License-Identifier: Apache-2.0
#include "report/span_times.h"

#include <stdio.h>

#include "base/array.h"
#include "report/bytes.h"
#include "report/sample.h"

/* Steps of a power of two. */
#define TOGETHER 4

/* The first step of a power; below the first one, there are single nanoseconds. */
static bool is_used(const struct span_times *times, uint32_t step, uint32_t n)
{
	for (uint32_t i = step; i < step + n; i++)
		if (times->n_returned[i] + times->n_left[i] > 0)
			return true;
	return false;
}

static bool next(const struct span_times *times, uint32_t *step, uint32_t n, struct span_row *ret)
{
	while (*step < DP_SPAN_STEPS && !is_used(times, *step, n))
		*step += n;
	if (*step >= DP_SPAN_STEPS)
		return false;
	*ret = (struct span_row){ .start_ns = dp_span_step_start(*step) };
	for (uint32_t i = 0; i < n; i++) {
		ret->n_returned += times->n_returned[*step + i];
		ret->n_left += times->n_left[*step + i];
	}
	*step += n;
	/* No time is as long as the last step. */
	ret->end_ns = *step < DP_SPAN_STEPS - TOGETHER ? dp_span_step_start(*step) : UINT64_MAX;
	return true;
}

bool span_times_next(const struct span_times *times, uint32_t *step, struct span_row *ret)
{
	return next(times, step, 1, ret);
}

bool span_times_next_power(const struct span_times *times, uint32_t *step, struct span_row *ret)
{
	return next(times, step, TOGETHER, ret);
}

uint64_t span_times_left(const struct span_times *times)
{
	uint64_t n = times->n_begun;

	/* A call may return while its begin is being counted. */
	for (uint32_t i = 0; i < DP_SPAN_STEPS; i++)
		n -= times->n_returned[i] < n ? times->n_returned[i] : n;
	return n;
}

void span_times_put(const struct totals *totals, struct bytes *to)
{
	const struct span_times *times = totals->calls;

	to->size = 0;
	bytes_put_text(to, times->name);
	bytes_put_number(to, times->min_ns);
	bytes_put_number(to, times->n_begun);
	bytes_put_number(to, times->n_long);
	bytes_put_number(to, times->n_unbegun);
	bytes_put_number(to, totals->outside);
	bytes_put_number(to, totals->in_unknown);
	for (uint32_t step = 0; step < DP_SPAN_STEPS; step++) {
		if (!is_used(times, step, 1))
			continue;
		bytes_put_number(to, step);
		bytes_put_number(to, times->n_returned[step]);
		bytes_put_number(to, times->n_left[step]);
	}
}

void span_times_add(struct span_times *times, struct totals *totals, struct view *from)
{
	times->min_ns = view_number(from);
	times->n_begun += view_number(from);
	times->n_long += view_number(from);
	times->n_unbegun += view_number(from);
	totals->outside += view_number(from);
	totals->in_unknown += view_number(from);
	while (!from->failed && !view_is_empty(from)) {
		uint64_t step = view_below(from, DP_SPAN_STEPS);

		times->n_returned[step] += view_number(from);
		times->n_left[step] += view_number(from);
	}
}

void span_times_format(uint64_t ns, char ret[SPAN_TIME_SIZE])
{
	static const char *const units[] = { "us", "ms", "s" };
	double value = (double)ns / 1e3;
	size_t i = 0;

	if (ns < 1000) {
		snprintf(ret, SPAN_TIME_SIZE, "%u ns", (unsigned int)ns);
		return;
	}
	for (; i + 1 < ARRAY_SIZE(units) && value >= 999.5; i++)
		value /= 1e3;
	snprintf(ret, SPAN_TIME_SIZE, value >= 999.5 ? "%.0f %s" : "%.3g %s", value, units[i]);
}
