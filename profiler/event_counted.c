// SPDX-License-Identifier: Apache-2.0
/* Events that the kernel itself counts, of which each one is a sample, and those of CPUs' counters. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernel/session.h"
#include "profiler/event.h"
#include "profiler/profiler.h"

static int attach_software(struct session *session, const struct profiler_options *o,
			   struct event_text *ret);
static int attach_hardware(struct session *session, const struct profiler_options *o,
			   struct event_text *ret);
static int attach_raw(struct session *session, const struct profiler_options *o,
		      struct event_text *ret);

#define SOFTWARE(_name, _counts, _missing)                                                         \
	{                                                                                          \
		.name = _name, .programs = EVENT_BIT(DP_EVENT_CPU), .has_period = true,            \
		.counts = _counts, .missing = _missing, .attach = attach_software                  \
	}

const struct event_source event_page_faults =
	SOFTWARE("page-faults", "page_faults", "had its pages");
const struct event_source event_minor_faults =
	SOFTWARE("minor-faults", "minor_faults", "had its pages");
const struct event_source event_major_faults =
	SOFTWARE("major-faults", "major_faults", "had its pages in memory");
const struct event_source event_context_switches =
	SOFTWARE("context-switches", "context_switches", "did not leave a CPU");
const struct event_source event_cpu_migrations =
	SOFTWARE("cpu-migrations", "cpu_migrations", "stayed on a CPU");

#define HARDWARE(_name, _counts)                                                                   \
	{                                                                                          \
		.name = _name, .programs = EVENT_BIT(DP_EVENT_CPU), .at_rate = true,               \
		.has_period = true, .counts = _counts,                                             \
		.missing = "did not run, or had too few of them", .attach = attach_hardware        \
	}

const struct event_source event_cycles = HARDWARE("cycles", "cycles");
const struct event_source event_instructions = HARDWARE("instructions", "instructions");
const struct event_source event_cache_references = HARDWARE("cache-references", "cache_references");
const struct event_source event_cache_misses = HARDWARE("cache-misses", "cache_misses");
const struct event_source event_branches = HARDWARE("branches", "branches");
const struct event_source event_branch_misses = HARDWARE("branch-misses", "branch_misses");

static const struct {
	const struct event_source *source;
	uint64_t config; /* PERF_COUNT_* */
	const char *what;
} events[] = {
	{ &event_page_faults, PERF_COUNT_SW_PAGE_FAULTS, "page fault" },
	{ &event_minor_faults, PERF_COUNT_SW_PAGE_FAULTS_MIN, "page fault without I/O" },
	{ &event_major_faults, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "page fault with I/O" },
	{ &event_context_switches, PERF_COUNT_SW_CONTEXT_SWITCHES, "switch to another thread" },
	{ &event_cpu_migrations, PERF_COUNT_SW_CPU_MIGRATIONS, "move to another CPU" },
	{ &event_cycles, PERF_COUNT_HW_CPU_CYCLES, NULL },
	{ &event_instructions, PERF_COUNT_HW_INSTRUCTIONS, NULL },
	{ &event_cache_references, PERF_COUNT_HW_CACHE_REFERENCES, NULL },
	{ &event_cache_misses, PERF_COUNT_HW_CACHE_MISSES, NULL },
	{ &event_branches, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, NULL },
	{ &event_branch_misses, PERF_COUNT_HW_BRANCH_MISSES, NULL },
};

static size_t find(const struct event_source *source)
{
	size_t i = 0;

	while (events[i].source != source)
		i++;
	return i;
}

static int attach(struct session *session, const struct profiler_options *o, uint32_t type,
		  uint64_t config, struct event_text *ret)
{
	const struct event_kind kind = {
		.type = type, .config = config, .period = o->period, .hz = o->hz
	};

	if (o->period > 0)
		snprintf(ret->how, sizeof(ret->how), "every %u %s", o->period, ret->name);
	else
		snprintf(ret->how, sizeof(ret->how), "at %u Hz by %s", o->hz, ret->name);
	return session_sample_event(session, &kind, ret->name);
}

static int attach_software(struct session *session, const struct profiler_options *o,
			   struct event_text *ret)
{
	size_t i = find(o->event.source);
	const struct event_kind each = { .type = PERF_TYPE_SOFTWARE,
					 .config = events[i].config,
					 .period = 1 };

	snprintf(ret->name, sizeof(ret->name), "%s", events[i].source->name);
	if (o->period > 1)
		return attach(session, o, each.type, each.config, ret);
	snprintf(ret->how, sizeof(ret->how), "at each %s", events[i].what);
	return session_sample_event(session, &each, ret->name);
}

static int attach_hardware(struct session *session, const struct profiler_options *o,
			   struct event_text *ret)
{
	size_t i = find(o->event.source);

	snprintf(ret->name, sizeof(ret->name), "%s", events[i].source->name);
	return attach(session, o, PERF_TYPE_HARDWARE, events[i].config, ret);
}

/* As in perf: the digits of the configuration follow the letter. */
static int check_raw(const char *digits)
{
	size_t n = strspn(digits, "0123456789abcdefABCDEF");

	return n >= 1 && n <= 16 && digits[n] == '\0' ? 0 : -EINVAL;
}

static int attach_raw(struct session *session, const struct profiler_options *o,
		      struct event_text *ret)
{
	snprintf(ret->name, sizeof(ret->name), "r%s", o->event.argument);
	return attach(session, o, PERF_TYPE_RAW, strtoull(o->event.argument, NULL, 16), ret);
}

const struct event_source event_raw = {
	.name = "r",
	.argument = "HEX",
	.programs = EVENT_BIT(DP_EVENT_CPU),
	.at_rate = true,
	.has_period = true,
	.missing = "did not run, or had too few of them",
	.check = check_raw,
	.attach = attach_raw,
};
