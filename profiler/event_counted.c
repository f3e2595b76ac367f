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
#include "profiler/profiler_options.h"

#define AT_RATE "-F times a second"

static int attach(const struct event_means *means, const struct profiler_options *o,
		  struct event_text *ret);

#define SOFTWARE(_name, _counts, _missing)                                                         \
	{                                                                                          \
		.name = _name, .when = "each one", .programs = EVENT_BIT(DP_EVENT_CPU),            \
		.has_period = true, .counts = _counts, .missing = _missing, .attach = attach       \
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
		.name = _name, .when = AT_RATE, .programs = EVENT_BIT(DP_EVENT_CPU),               \
		.at_rate = true, .has_period = true, .counts = _counts,                            \
		.missing = "did not run, or had too few of them", .attach = attach                 \
	}

const struct event_source event_cycles = HARDWARE("cycles", "cycles");
const struct event_source event_instructions = HARDWARE("instructions", "instructions");
const struct event_source event_cache_references = HARDWARE("cache-references", "cache_references");
const struct event_source event_cache_misses = HARDWARE("cache-misses", "cache_misses");
const struct event_source event_branches = HARDWARE("branches", "branches");
const struct event_source event_branch_misses = HARDWARE("branch-misses", "branch_misses");

static const struct {
	const struct event_source *source;
	uint64_t config;  /* PERF_COUNT_* */
	const char *what; /* NULL: of a CPU's counter */
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

/* As in perf: the digits of the configuration follow the letter. */
static int check_raw(const struct event_source *source, const char *digits)
{
	size_t n = strspn(digits, "0123456789abcdefABCDEF");

	return n >= 1 && n <= 16 && digits[n] == '\0' ? 0 : -EINVAL;
}

/* r1c2 is r01C2. */
static bool is_same_raw(const char *a, const char *b)
{
	return strtoull(a, NULL, 16) == strtoull(b, NULL, 16);
}

const struct event_source event_raw = {
	.name = "r",
	.argument = "HEX",
	.when = AT_RATE,
	.programs = EVENT_BIT(DP_EVENT_CPU),
	.at_rate = true,
	.has_period = true,
	.missing = "did not run, or had too few of them",
	.check = check_raw,
	.is_same = is_same_raw,
	.attach = attach,
};

static size_t find(const struct event_source *source)
{
	size_t i = 0;

	while (events[i].source != source)
		i++;
	return i;
}

/* Describes an event, and adds how it is sampled to the text. */
static struct event_kind describe(const struct profiler_options *o, const struct event *event,
				  char how[], size_t size)
{
	struct event_kind kind = { .type = PERF_TYPE_RAW, .period = o->period, .hz = o->hz };
	const char *what = NULL;
	size_t length = strlen(how);
	char name[EVENT_NAME_SIZE];

	event_name(event, name);
	if (event->source == &event_raw) {
		kind.config = strtoull(event->argument, NULL, 16);
	} else {
		size_t i = find(event->source);

		what = events[i].what;
		kind.type = what ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE;
		kind.config = events[i].config;
	}
	if (what && kind.period == 0)
		kind.period = 1;
	if (what && kind.period == 1)
		snprintf(how + length, size - length, "at each %s", what);
	else if (kind.period > 0)
		snprintf(how + length, size - length, "every %u %s", o->period, name);
	else
		snprintf(how + length, size - length, "at %u Hz by %s", o->hz, name);
	return kind;
}

static int attach(const struct event_means *means, const struct profiler_options *o,
		  struct event_text *ret)
{
	struct event_kind kinds[EVENT_MAX];
	char texts[EVENT_MAX][EVENT_NAME_SIZE];
	const char *names[EVENT_MAX];

	*ret = (struct event_text){ 0 };
	for (size_t i = 0; i < profiler_n_events(o); i++) {
		const struct event *event = profiler_event(o, i);
		size_t length = strlen(ret->name);

		event_name(event, texts[i]);
		names[i] = texts[i];
		snprintf(ret->name + length, sizeof(ret->name) - length, "%s%s", i > 0 ? "," : "",
			 names[i]);
		if (i > 0)
			strncat(ret->how, ", ", sizeof(ret->how) - strlen(ret->how) - 1);
		kinds[i] = describe(o, event, ret->how, sizeof(ret->how));
	}
	return session_sample_events(means->session, kinds, names, profiler_n_events(o));
}
