/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_WINDOW_H
#define DP_AGENT_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "report/sample.h"

/*
 * The time of which a profiler's samples count, CLOCK_MONOTONIC: when one takes over from another,
 * both sample for a while. The bounds may be set by any thread, before samples of that time arrive.
 */
struct window {
	_Atomic uint64_t from_ns, until_ns; /* until: the first moment that does not count */
};

/*
 * Cuts a sample to the window, a blocked time to its part in it. False: nothing is in it. Adds what
 * is left out to `ret_out`.
 */
bool window_cut(const struct window *window, struct sample *sample, struct totals *ret_out);

#endif
