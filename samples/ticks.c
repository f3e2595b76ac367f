// SPDX-License-Identifier: Apache-2.0
#include "samples/ticks.h"

#include <errno.h>
#include <stdlib.h>

/* How long before samples, for the kernel to know processes by then, but a quarter of a period at most. */
#define LEAD_NS UINT64_C(1500000)
/* How long after a sample it can be reported: its walk is over. */
#define REPORTABLE_NS (TICKS_WALK_NS + UINT64_C(300000))
/* Samples of several CPUs that are so near are one's; at most a quarter of a period as well. */
#define SPREAD_NS UINT64_C(1500000)

int ticks_init(struct ticks *ret, size_t n_cpus, uint64_t period_ns)
{
	*ret = (struct ticks){ .last = calloc(n_cpus, sizeof(*ret->last)) };
	if (!ret->last)
		return -ENOMEM;
	ret->n_cpus = n_cpus;
	ret->period_ns = period_ns;
	return 0;
}

void ticks_done(struct ticks *t)
{
	free(t->last);
	*t = (struct ticks){ 0 };
}

void ticks_note(struct ticks *t, size_t cpu, uint64_t time_ns)
{
	if (cpu < t->n_cpus)
		t->last[cpu] = time_ns;
}

static uint64_t next_of(uint64_t last, uint64_t period, uint64_t from)
{
	if (from <= last)
		return last - (last - from) / period * period;
	return last + (from - last + period - 1) / period * period;
}

uint64_t ticks_next(const struct ticks *t, uint64_t from_ns)
{
	uint64_t first = 0;

	for (size_t cpu = 0; t->period_ns > 0 && cpu < t->n_cpus; cpu++) {
		uint64_t next = t->last[cpu] ? next_of(t->last[cpu], t->period_ns, from_ns) : 0;

		if (next > 0 && (first == 0 || next < first))
			first = next;
	}
	return first;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t ticks_turn(const struct ticks *t, uint64_t after)
{
	const uint64_t lead = min(t->period_ns / 4, LEAD_NS);
	const uint64_t spread = min(t->period_ns / 4, SPREAD_NS);
	const uint64_t tick = ticks_next(t, after + lead + spread);
	const uint64_t taken = ticks_next(t, after + 1 - REPORTABLE_NS);

	return tick == 0 ? 0 : min(tick - lead, taken + REPORTABLE_NS + spread);
}
