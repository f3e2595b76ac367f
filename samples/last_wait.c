// SPDX-License-Identifier: Apache-2.0
#include "samples/last_wait.h"

#include "log/clock.h"

bool last_wait_goes_on(const struct last_wait *w, uint64_t since_ns)
{
	bool is_hurried = w->is_hurried && w->is_hurried(w->arg);

	return clock_now_ns() < since_ns + (is_hurried ? LAST_WAIT_HURRIED_NS : LAST_WAIT_NS);
}
