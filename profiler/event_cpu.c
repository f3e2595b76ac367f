// SPDX-License-Identifier: Apache-2.0
/* Code on the CPUs, at a fixed rate; the event `wall` adds blocked threads. */
#include <string.h>

#include "kernel/session.h"
#include "profiler/event.h"
#include "profiler/profiler_options.h"

static int attach(const struct event_means *means, const struct profiler_options *o,
		  struct event_text *ret)
{
	char why[EVENT_WHY_SIZE];
	const char *event;
	int err = session_sample_cpus(means->session, o->hz, &event, why);

	if (err < 0)
		return err;
	snprintf(ret->name, sizeof(ret->name), "%s", event);
	snprintf(ret->how, sizeof(ret->how), "at %u Hz by %s%s%s%s", o->hz, event, *why ? " (" : "",
		 why, *why ? ")" : "");
	return 0;
}

/* The CPUs last, so that samples do not pile up before the reader starts. */
static int attach_both(const struct event_means *means, const struct profiler_options *o,
		       struct event_text *ret)
{
	int err = session_sample_off_cpu(means->session);
	size_t length;

	if (err == 0)
		err = attach(means, o, ret);
	if (err < 0)
		return err;
	length = strlen(ret->how);
	snprintf(ret->how + length, sizeof(ret->how) - length,
		 ", and each time a thread leaves its CPU");
	return 0;
}

const struct event_source event_cpu = {
	.name = "cpu",
	.programs = EVENT_BIT(DP_EVENT_CPU),
	.at_rate = true,
	.missing = "did not run, or not long enough",
	.attach = attach,
};

const struct event_source event_wall = {
	.name = "wall",
	.programs = EVENT_BIT(DP_EVENT_CPU) | EVENT_BIT(DP_EVENT_OFF_CPU),
	/* A CPU's event may interrupt the other program. */
	.levels = DP_WALL_LEVELS,
	.rings_per_cpu = 2,
	.states = (1U << DP_N_STATES) - 1,
	.cpu_has_time = true,
	.at_rate = true,
	.missing = "did not run, or not long enough",
	.attach = attach_both,
};
