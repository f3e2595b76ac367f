/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_WINDOW_H
#define DP_AGENT_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "report/sample.h"

/*
 * The time in which a profiler's samples count (CLOCK_MONOTONIC): while one takes over from another, both sample.
 * Any thread may set the bounds, before samples of that time arrive.
 */
struct window {
	_Atomic uint64_t from_ns, until_ns; /* until: the first moment that does not count */
};

/*
 * Cuts a sample to the window, an off-CPU interval to the part inside. False: nothing is inside. Adds what is cut
 * to `ret_out`.
 */
bool window_cut(const struct window *window, struct sample *sample, struct totals *ret_out);

#endif
