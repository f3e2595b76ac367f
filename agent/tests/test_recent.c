// SPDX-License-Identifier: Apache-2.0
/* What the picture of the last minute shows of intervals. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/recent.h"
#include "base/cleanup.h"
#include "symbols/names.h"

#define SECOND UINT64_C(1000000000)

static struct names *names;
static struct recent *recent;

static void set_up(void)
{
	cr_assert_eq(names_new(&(struct names_options){ .none = true }, &names), 0);
	cr_assert_eq(recent_new(&recent), 0);
}

static void tear_down(void)
{
	recent_free(recent);
	names_free(names);
}

static struct sample sample_of(const char *comm, enum dp_event event)
{
	struct sample sample = { .event = event, .weight = 1, .value_ns = SECOND / 19 };

	snprintf(sample.comm, sizeof(sample.comm), "%s", comm);
	return sample;
}

/* An interval of ten seconds, with a sample of each kind, and one of each of so many other processes. */
static void add_large_interval(const char *comm, const char *event, unsigned int begin_s,
			       unsigned int n_others)
{
	const struct report_context context = {
		.target = "all",
		.event = event,
		.events = EVENT_BIT(DP_EVENT_CPU) | EVENT_BIT(DP_EVENT_OFF_CPU),
		.hz = 19,
		.names = names,
		.symbols = true,
		.started_ns = begin_s * SECOND,
	};
	struct totals totals = { .duration_ns = RECENT_INTERVAL_NS };
	struct sample cpu = sample_of(comm, DP_EVENT_CPU),
		      off = sample_of("sleeper", DP_EVENT_OFF_CPU);
	struct report *report;

	cr_assert_eq(recent_report_new(recent, false, &context, &report), 0);
	cr_assert_eq(report_add(report, &cpu, &totals), 0);
	cr_assert_eq(report_add(report, &off, &totals), 0);
	for (unsigned int i = 0; i < n_others; i++) {
		snprintf(cpu.comm, sizeof(cpu.comm), "p%u", i);
		cr_assert_eq(report_add(report, &cpu, &totals), 0);
	}
	cr_assert_eq(report->finish(report, &totals), 0);
	report_free(report);
}

static void add_interval(const char *comm, const char *event, unsigned int begin_s)
{
	add_large_interval(comm, event, begin_s, 0);
}

/* NULL: there is none. */
static char *draw(const char *process)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	int err = recent_write(recent, process, to);

	fclose(to);
	if (err == 0)
		return text;
	cr_assert_eq(err, -ENODATA);
	free(text);
	return NULL;
}

static bool shows(const char *process, const char *words)
{
	_cleanup_free_ char *text = draw(process);

	return strstr(text, words);
}

TestSuite(recent, .init = set_up, .fini = tear_down);

Test(recent, none_yet)
{
	cr_assert_null(draw(""));
}

Test(recent, a_minute)
{
	char comm[16];

	for (unsigned int i = 0; i < 20; i++) {
		snprintf(comm, sizeof(comm), "process-%u", i);
		add_interval(comm, "cpu-clock", 10 * i);
	}
	cr_assert(shows("", "process-19"));
	cr_assert(shows("", "process-14"));
	cr_assert(!shows("", "process-13"));
	cr_assert(!shows("", "sleeper"));
	cr_assert(shows("", "60.0 s: 6 samples"));
	cr_assert(shows("process-15", "process-15"));
	cr_assert(!shows("process-15", "process-16"));
}

Test(recent, of_the_newest_event)
{
	add_interval("a", "cycles", 0);
	add_interval("first", "cpu-clock", 10);
	add_interval("second", "cpu-clock", 20);
	cr_assert(shows("", "20.0 s: 2 samples"));
}

/* Until somebody looks, and then again for those before. */
Test(recent, names)
{
	static const char note[] = "while somebody looks";

	add_interval("a", "cpu-clock", 0);
	cr_assert(shows("", note));
	add_interval("b", "cpu-clock", 10);
	cr_assert(shows("", note));
	for (unsigned int i = 2; i < 8; i++)
		add_interval("c", "cpu-clock", 10 * i);
	cr_assert(!shows("", note));
}

Test(recent, bounded)
{
	for (unsigned int i = 0; i < 20; i++)
		add_interval("a", "cpu-clock", 10 * i);
	cr_assert_gt(recent_counts(recent).size, 0);
	cr_assert_lt(recent_counts(recent).size, RECENT_SIZE);
	cr_assert_eq(recent_counts(recent).left_out, 0);
	for (unsigned int i = 20; i < 28; i++)
		add_large_interval("a", "cpu-clock", 10 * i, 20000);
	cr_assert_leq(recent_counts(recent).size, RECENT_SIZE);
	cr_assert_gt(recent_counts(recent).left_out, 0);
}
