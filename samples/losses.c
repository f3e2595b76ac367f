// SPDX-License-Identifier: Apache-2.0
#include "samples/losses.h"

void losses_count(const struct session *session, uint64_t n_dropped, uint64_t dropped_ns,
		  struct totals *ret)
{
	struct session_losses losses;

	session_losses(session, &losses);
	ret->lost_by[LOST_RINGS_FULL] = losses.full;
	ret->lost_by[LOST_REPORTS_FULL] = n_dropped;
	ret->lost_by[LOST_NESTED] = losses.nested;
	ret->lost_by[LOST_MISSED] = losses.missed;
	ret->lost_by[LOST_UNREADABLE] = losses.unreadable;
	ret->lost_by[LOST_UNTRACKED] = losses.untracked;
	ret->lost = 0;
	for (enum lost_reason i = 0; i < LOST_N_REASONS; i++)
		ret->lost += ret->lost_by[i];
	ret->lost_ns = losses.time_ns + dropped_ns;
}
