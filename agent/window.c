// SPDX-License-Identifier: Apache-2.0
#include "agent/window.h"

bool window_cut(const struct window *w, struct sample *s, struct totals *ret_out)
{
	uint64_t from = atomic_load(&w->from_ns), until = atomic_load(&w->until_ns);
	uint64_t length = s->event == DP_EVENT_OFF_CPU ? s->value_ns : 0;
	uint64_t begin = s->time_ns > from ? s->time_ns : from, end = s->time_ns + length;

	if (s->time_ns >= until || (s->time_ns < from && end <= from)) {
		totals_count(ret_out, s);
		return false;
	}
	if (length == 0)
		return true;
	end = end < until ? end : until;
	ret_out->time_ns += s->weight * (length - (end - begin));
	s->time_ns = begin;
	s->value_ns = end - begin;
	return true;
}
