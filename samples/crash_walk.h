/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_CRASH_WALK_H
#define DP_SAMPLES_CRASH_WALK_H

#include "samples/unwinder.h"

/*
 * Walks the copied stack of a crash. Where the thread has called an address without code, such as
 * NULL, there is no rule for the innermost frame, but nothing has run since the call either: the
 * return address is on top of the stack, and the other registers are the caller's. So the walk goes
 * on from there if that word leads into code, right behind a call.
 */
struct unwinder_result crash_walk(struct unwinder *unwinder, const struct dp_crash *crash,
				  const struct stack_copy *copy, const struct snapshot *snapshot);

#endif
