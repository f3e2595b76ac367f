// SPDX-License-Identifier: Apache-2.0
#include "agent/rate.h"

#include <sys/resource.h>

#include "agent/figures.h"
#include "log/log.h"

/* Looks come about as often as they should. */
#define SLACK_NS (RATE_LOOK_NS / 10)
/* A sample of what is counted stands for as many events as have passed, which has 32 bits. */
#define LEAST_COUNTED_HZ 10
/* One of so many samples may be lost. */
#define MOST_LOST 100

void rate_begin(struct rate *r, const struct rate_signs *signs, uint64_t now_ns)
{
	*r = (struct rate){ .last = *signs, .looked_ns = now_ns, .good_since_ns = now_ns };
}

static bool is_bad(const struct rate *r, const struct rate_signs *signs, double cpu_share,
		   uint64_t passed_ns)
{
	double allowed_ns = cpu_share * (double)passed_ns;
	uint64_t lost = signs->lost - r->last.lost, read = signs->samples - r->last.samples;

	if (lost > 0 && lost > (lost + read) / MOST_LOST)
		return true;
	return cpu_share > 0 && signs->waited_ns > r->last.waited_ns &&
	       (double)(signs->cpu_ns - r->last.cpu_ns) > allowed_ns;
}

unsigned int rate_advised(struct rate *r, const struct rate_signs *signs, double cpu_share,
			  unsigned int divisor, uint64_t now_ns)
{
	bool bad, was_bad = r->was_bad;

	if (now_ns < r->looked_ns + RATE_LOOK_NS - SLACK_NS)
		return divisor;
	bad = is_bad(r, signs, cpu_share, now_ns - r->looked_ns);
	r->last = *signs;
	r->looked_ns = now_ns;
	/* If the advice cannot be taken, it is given again after as long. */
	r->was_bad = bad && !was_bad;
	if (bad)
		r->good_since_ns = now_ns;
	if (bad && was_bad)
		return divisor * 2;
	if (now_ns < r->good_since_ns + RATE_GOOD_NS)
		return divisor;
	r->good_since_ns = now_ns;
	return divisor > 1 ? divisor / 2 : 1;
}

unsigned int rate_divided(const struct profiler_options *o, unsigned int divisor)
{
	bool is_counted = event_has_periods(&o->event, o->period) || o->n_others > 0;
	unsigned int hz = o->hz / divisor;

	return divisor > 1 && is_counted && hz < LEAST_COUNTED_HZ ? 0 : hz;
}

unsigned int rate_kept(const struct profiler_options *now, const struct profiler_options *next,
		       unsigned int divisor)
{
	return next->hz == now->hz && rate_divided(next, divisor) > 0 ? divisor : 1;
}

static uint64_t own_cpu_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) < 0)
		return 0;
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

bool rate_change(struct rate *r, const struct figures *f, const struct profiler_options *options,
		 bool is_steady, unsigned int *divisor, uint64_t now_ns)
{
	/* How many there are of other events does not depend on the rate. */
	const struct rate_signs signs = {
		.samples = f->totals.samples,
		.lost = options->n_others > 0 ? 0 : f->totals.lost_by[LOST_RINGS_FULL],
		.cpu_ns = own_cpu_ns(),
		.waited_ns = f->helpers_waited_ns,
	};
	unsigned int advised, hz;

	if (!is_steady || f->run.hz == 0) {
		rate_begin(r, &signs, now_ns);
		return false;
	}
	advised = rate_advised(r, &signs, f->cpu_share, *divisor, now_ns);
	hz = rate_divided(options, advised);
	if (advised == *divisor || hz == 0)
		return false;
	if (advised > *divisor)
		log_warning("cannot keep up with %u samples per second: %u from now on", f->run.hz,
			    hz);
	else
		log_info("sampling at %u samples per second again", hz);
	*divisor = advised;
	return true;
}
