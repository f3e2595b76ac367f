// SPDX-License-Identifier: Apache-2.0
/* Events that the kernel itself counts (PERF_COUNT_SW_*): each one is a sample. */
#include <linux/perf_event.h>

#include "kernel/session.h"
#include "profiler/event.h"
#include "profiler/profiler.h"

/* X(identifier, name, unit of counts, PERF_COUNT_SW_*, what happens, why a target may have none) */
#define SOFTWARE_EVENTS(X)                                                                         \
	X(page_faults, "page-faults", "page_faults", PAGE_FAULTS, "page fault", "had its pages")   \
	X(minor_faults, "minor-faults", "minor_faults", PAGE_FAULTS_MIN, "page fault without I/O", \
	  "had its pages")                                                                         \
	X(major_faults, "major-faults", "major_faults", PAGE_FAULTS_MAJ, "page fault with I/O",    \
	  "had its pages in memory")                                                               \
	X(context_switches, "context-switches", "context_switches", CONTEXT_SWITCHES,              \
	  "switch to another thread", "did not leave a CPU")                                       \
	X(cpu_migrations, "cpu-migrations", "cpu_migrations", CPU_MIGRATIONS,                      \
	  "move to another CPU", "stayed on a CPU")

#define X(identifier, word, unit, counter, what, why)                                              \
	static int attach_##identifier(struct session *session, const struct profiler_options *o,  \
				       struct event_text *ret)                                     \
	{                                                                                          \
		*ret = (struct event_text){ .name = word, .how = "at each " what };                \
		return session_sample_each(session, PERF_COUNT_SW_##counter);                      \
	}                                                                                          \
	const struct event_source event_##identifier = {                                           \
		.name = word,                                                                      \
		.programs = EVENT_BIT(DP_EVENT_CPU),                                               \
		.counts = unit,                                                                    \
		.missing = why,                                                                    \
		.attach = attach_##identifier,                                                     \
	};
SOFTWARE_EVENTS(X)
#undef X
