/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_TESTS_SAMPLES_H
#define DP_FORMATS_TESTS_SAMPLES_H

#include <criterion/criterion.h>

#include "formats/report_format.h"
#include "report/report.h"
#include "symbols/tests/some_names.h"

/* Synthetic samples with nothing but addresses: modules without symbols. */
static struct module program = {
	.name = "prog", .path = (char *)"/usr/bin/prog", .fd = -1, .symtab_tried = true
};

static const struct frame frames[] = {
	{ 0x5010, 0x1010, &program, DP_METHOD_LEAF },
	{ 0x5120, 0x1120, &program, DP_METHOD_TABLE },
	{ 0x7777, 0, NULL, DP_METHOD_FRAME_POINTER },
};

static const __u64 kernel[] = { 0xffffffff81000001, 0xffffffff81000100 };

static inline struct sample sample_of(enum dp_outcome outcome)
{
	return (struct sample){ .time_ns = 123456789,
				.cpu = 1,
				.weight = 1,
				.pid = 42,
				.tid = 43,
				.comm = "my prog",
				.thread_name = "worker",
				.outcome = outcome,
				.user = frames,
				.n_user = 3 };
}

static char *text;
static size_t text_size;
static struct report *report;
static struct totals totals;

static inline void begin_with(const char *format, const struct report_context *context)
{
	struct report_context own = *context;

	own.names = program.names = some_names();
	cr_assert(report_new(report_format_by_name(format), &own, open_memstream(&text, &text_size),
			     &report) == 0);
}

static inline void begin(const char *format)
{
	begin_with(format, &(struct report_context){ .target = "prog (PID 42)",
						     .event = "cpu-clock",
						     .hz = 99,
						     .events = EVENT_BIT(DP_EVENT_CPU),
						     .symbols = true });
}

static inline void add(struct sample sample)
{
	totals.samples++;
	totals.events += sample.weight;
	totals.time_ns += sample.weight * sample.value_ns;
	totals.outcomes[sample.outcome]++;
	cr_assert(report_add(report, &sample, &totals) == 0);
}

static inline void finish(void)
{
	cr_assert(report_finish(report, &totals) == 0);
	fclose(report->to);
	report_free(report);
}

/* Running and waiting. */
#define WALL (EVENT_BIT(DP_EVENT_CPU) | EVENT_BIT(DP_EVENT_OFF_CPU))

/* Begins a report of times, of both kinds if `wall`. */
static inline void begin_times(const char *format, bool wall)
{
	begin_with(format,
		   &(struct report_context){ .target = "prog (PID 42)",
					     .event = wall ? "cpu-clock" : "off-cpu",
					     .events = wall ? WALL : EVENT_BIT(DP_EVENT_OFF_CPU) });
}

static inline struct sample block_of(enum dp_state state, uint64_t ns)
{
	struct sample sample = sample_of(DP_COMPLETE);

	sample.event = DP_EVENT_OFF_CPU;
	sample.state = state;
	sample.value_ns = ns;
	return sample;
}

#endif
