/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_UNSEEN_H
#define DP_SAMPLES_UNSEEN_H

#include "kernel/session.h"

/*
 * Counts the threads of these processes that have been blocked since before sampling began, in one of `states` (bits
 * by enum dp_state). They have not left a CPU since, so there are no samples of them.
 * Call it during sampling. 0 or a negative errno.
 */
int unseen_count(const struct session *session, const pid_t *pids, size_t n_pids,
		 unsigned int states, size_t *ret);

#endif
