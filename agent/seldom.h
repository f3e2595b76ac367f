/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_SELDOM_H
#define DP_AGENT_SELDOM_H

#include <stdbool.h>
#include <stdint.h>

/* What fails again and again, and is to be said now and then; any thread. Zeroed, it is ready. */
struct seldom {
	_Atomic uint64_t said_ns,
		unsaid; /* when it was said last, and how often it was not since */
};

/* True if it is to be said: for the first time, or again after that time. Otherwise it is counted. */
bool seldom_may_say(struct seldom *seldom, uint64_t every_ns, uint64_t *ret_unsaid);

#endif
