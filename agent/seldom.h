/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_SELDOM_H
#define DP_AGENT_SELDOM_H

#include <stdbool.h>
#include <stdint.h>

/* A rate limit for a repeated log message. Initialized to zero; thread-safe. */
struct seldom {
	_Atomic uint64_t said_ns,
		unsaid; /* when the message was logged last, and how often it was suppressed since */
};

/*
 * Returns true if the message is due: for the first time, or every_ns after the last; *ret_unsaid: how many were
 * suppressed. Otherwise counts it as suppressed.
 */
bool seldom_may_say(struct seldom *seldom, uint64_t every_ns, uint64_t *ret_unsaid);

#endif
