// SPDX-License-Identifier: Apache-2.0
/* Signals that end processes with a core dump. */
#include "kernel/session.h"
#include "profiler/event.h"

static int attach(const struct event_means *means, const struct profiler_options *o,
		  struct event_text *ret)
{
	*ret = (struct event_text){ .name = "crash", .how = "when a signal ends a process" };
	return session_sample_crashes(means->session);
}

const struct event_source event_crash = {
	.name = "crash",
	.when = "each signal that ends a process with a core dump",
	.programs = EVENT_BIT(DP_EVENT_CRASH),
	.counts = "crashes",
	.user_only = true,
	.missing = "did not crash",
	.attach = attach,
};
