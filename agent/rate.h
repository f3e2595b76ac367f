/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_RATE_H
#define DP_AGENT_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct figures;
struct profiler_options;

/*
 * Adapts the sampling rate: halves it when the machine cannot keep up, repeatedly if needed, and doubles it after
 * ten minutes in which it could. It cannot keep up if more than 1 % of samples are lost to full rings, or if the
 * agent alone, without its helpers, exceeds --cpu-budget while tables and names wait for their share; in two
 * consecutive intervals, because a short burst is over before a new rate would take effect.
 */

#define RATE_LOOK_NS UINT64_C(10000000000)
#define RATE_GOOD_NS UINT64_C(600000000000)

/* What the decision is based on, as totals since the agent started. */
struct rate_signs {
	uint64_t samples;
	uint64_t lost;      /* samples, because rings were full */
	uint64_t cpu_ns;    /* used by this process */
	uint64_t waited_ns; /* by tables and names, for the budget */
};

struct rate {
	struct rate_signs last;
	uint64_t looked_ns, good_since_ns;
	bool was_bad; /* the last interval */
};

/* Sampling starts, at any rate. */
void rate_begin(struct rate *rate, const struct rate_signs *signs, uint64_t now_ns);
/*
 * Returns what to divide the rate by; `divisor` is the current value. cpu_share: that of --cpu-budget; 0: none.
 * To be called at least every RATE_LOOK_NS.
 */
unsigned int rate_advised(struct rate *rate, const struct rate_signs *signs, double cpu_share,
			  unsigned int divisor, uint64_t now_ns);

/* The rate divided by `divisor`; 0: that would be too slow. */
unsigned int rate_divided(const struct profiler_options *options, unsigned int divisor);

/* What to divide the rate of new options by: 1 if they change the rate. */
unsigned int rate_kept(const struct profiler_options *now, const struct profiler_options *next,
		       unsigned int divisor);

/*
 * Judges the agent's own figures. Returns whether to restart sampling with another divisor, which is logged.
 * is_steady: no run is starting or ending; otherwise nothing is judged, because that takes time, too.
 */
bool rate_change(struct rate *rate, const struct figures *figures,
		 const struct profiler_options *options, bool is_steady, unsigned int *divisor,
		 uint64_t now_ns);

#endif
