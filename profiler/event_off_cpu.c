// SPDX-License-Identifier: Apache-2.0
/* Blocked threads, with the time they were blocked. */
#include "kernel/session.h"
#include "profiler/event.h"

static int attach(const struct event_means *means, const struct profiler_options *o,
		  struct event_text *ret)
{
	*ret = (struct event_text){ .name = "off-cpu", .how = "each time a thread blocks" };
	return session_sample_off_cpu(means->session);
}

const struct event_source event_off_cpu = {
	.name = "off-cpu",
	.programs = EVENT_BIT(DP_EVENT_OFF_CPU),
	.states = 1U << DP_STATE_SLEEPING | 1U << DP_STATE_DISK_SLEEP,
	.missing = "did not block",
	.attach = attach,
};
