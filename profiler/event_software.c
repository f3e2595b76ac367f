// SPDX-License-Identifier: Apache-2.0
/* Events that the kernel itself counts (PERF_COUNT_SW_*): each one is a sample. */
#include <errno.h>
#include <linux/perf_event.h>

#include "base/array.h"
#include "kernel/session.h"
#include "profiler/event.h"
#include "profiler/profiler.h"

static int attach(struct session *session, const struct profiler_options *o,
		  struct event_text *ret);

const struct event_source event_page_faults = {
	.name = "page-faults",
	.programs = EVENT_BIT(DP_EVENT_CPU),
	.counts = "page_faults",
	.missing = "had its pages",
	.attach = attach,
};

const struct event_source event_minor_faults = {
	.name = "minor-faults",
	.programs = EVENT_BIT(DP_EVENT_CPU),
	.counts = "minor_faults",
	.missing = "had its pages",
	.attach = attach,
};

const struct event_source event_major_faults = {
	.name = "major-faults",
	.programs = EVENT_BIT(DP_EVENT_CPU),
	.counts = "major_faults",
	.missing = "had its pages in memory",
	.attach = attach,
};

const struct event_source event_context_switches = {
	.name = "context-switches",
	.programs = EVENT_BIT(DP_EVENT_CPU),
	.counts = "context_switches",
	.missing = "did not leave a CPU",
	.attach = attach,
};

const struct event_source event_cpu_migrations = {
	.name = "cpu-migrations",
	.programs = EVENT_BIT(DP_EVENT_CPU),
	.counts = "cpu_migrations",
	.missing = "stayed on a CPU",
	.attach = attach,
};

static const struct {
	const struct event_source *source;
	uint64_t counter;
	const char *what;
} events[] = {
	{ &event_page_faults, PERF_COUNT_SW_PAGE_FAULTS, "page fault" },
	{ &event_minor_faults, PERF_COUNT_SW_PAGE_FAULTS_MIN, "page fault without I/O" },
	{ &event_major_faults, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "page fault with I/O" },
	{ &event_context_switches, PERF_COUNT_SW_CONTEXT_SWITCHES, "switch to another thread" },
	{ &event_cpu_migrations, PERF_COUNT_SW_CPU_MIGRATIONS, "move to another CPU" },
};

static int attach(struct session *session, const struct profiler_options *o, struct event_text *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		if (o->event.source != events[i].source)
			continue;
		snprintf(ret->name, sizeof(ret->name), "%s", events[i].source->name);
		snprintf(ret->how, sizeof(ret->how), "at each %s", events[i].what);
		return session_sample_each(session, events[i].counter);
	}
	return -EINVAL;
}
