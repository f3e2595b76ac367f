/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_UNSEEN_H
#define DP_SAMPLES_UNSEEN_H

#include "kernel/session.h"

/*
 * Counts the threads of these processes that have been blocked, in one of `states` (bits by enum
 * dp_state), since before sampling began: they have not left a CPU, so nothing is known of them.
 * Call it during sampling. 0 or a negative errno.
 */
int unseen_count(const struct session *session, const pid_t *pids, size_t n_pids,
		 unsigned int states, size_t *ret);

#endif
