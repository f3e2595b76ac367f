/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_RATE_H
#define DP_AGENT_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct figures;
struct profiler_options;

/*
 * How often to sample: half as often if the machine has no time for it, and half again; twice as often
 * after ten minutes in which it had. It has none if more than one sample in a hundred is lost because
 * nobody comes to read them, or if the agent without its helpers uses what --cpu-budget gives to all, so
 * that names wait in vain: in two intervals in a row, as a short burst is over before anything could be
 * changed.
 */

#define RATE_LOOK_NS UINT64_C(10000000000)
#define RATE_GOOD_NS UINT64_C(600000000000)

/* What tells, as sums since the agent began. */
struct rate_signs {
	uint64_t samples;
	uint64_t lost;      /* samples, as rings were full */
	uint64_t cpu_ns;    /* used by this process */
	uint64_t waited_ns; /* by tables and names, for the budget */
};

struct rate {
	struct rate_signs last;
	uint64_t looked_ns, good_since_ns;
	bool was_bad; /* the last interval */
};

/* Sampling begins, at whatever rate. */
void rate_begin(struct rate *rate, const struct rate_signs *signs, uint64_t now_ns);
/*
 * What to divide the rate by, if it is divided by `divisor` now. cpu_share: of --cpu-budget; 0: none.
 * To be called at least every RATE_LOOK_NS.
 */
unsigned int rate_advised(struct rate *rate, const struct rate_signs *signs, double cpu_share,
			  unsigned int divisor, uint64_t now_ns);

/* The rate that is `divisor` times slower; 0: that would be too slow. */
unsigned int rate_divided(const struct profiler_options *options, unsigned int divisor);

/* By what to divide the next options' rate: another rate is tried as it is. */
unsigned int rate_kept(const struct profiler_options *now, const struct profiler_options *next,
		       unsigned int divisor);

/*
 * Looks at what the agent tells of itself. Returns whether to begin anew with another divisor, which is
 * logged. While runs change, it is not judged: that takes time, too.
 */
bool rate_change(struct rate *rate, const struct figures *figures,
		 const struct profiler_options *options, bool is_steady, unsigned int *divisor,
		 uint64_t now_ns);

#endif
