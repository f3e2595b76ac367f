// SPDX-License-Identifier: Apache-2.0
/* Samples as `perf script` prints them, compared with the expected text. */
#include <criterion/criterion.h>

#include "formats/report_format.h"
#include "report/report.h"

static struct module program = {
	.name = "prog", .path = (char *)"/usr/bin/a (b)\n", .fd = -1, .symtab_tried = true
};

static const struct frame frames[] = {
	{ 0x5010, 0x1010, &program, DP_METHOD_LEAF },
	{ 0x7777, 0, NULL, DP_METHOD_FRAME_POINTER },
};

static const __u64 kernel[] = { 0xffffffff81000001 };

static char *text;
static size_t text_size;

static void expect(const struct report_context *context, const struct sample *sample,
		   const char *expected)
{
	struct totals totals = { .samples = 1, .lost = 2 };
	struct report *report;

	totals.outcomes[sample->outcome] = 1;
	cr_assert(report_new(report_format_by_path("x.perf"), context,
			     open_memstream(&text, &text_size), &report) == 0);
	cr_assert(report_add(report, sample, &totals) == 0);
	cr_assert(report_finish(report, &totals) == 0);
	fclose(report->to);
	report_free(report);
	cr_assert(strncmp(text, "# ========\n", 11) == 0, "%s", text);
	cr_assert(strstr(text, expected), "%s", text);
	free(text);
}

static struct sample sample_of(const char *comm)
{
	struct sample sample = { .time_ns = 123456789999,
				 .cpu = 1,
				 .weight = 3,
				 .pid = 42,
				 .tid = 43210,
				 .outcome = DP_NO_RULE,
				 .user = frames,
				 .n_user = 2,
				 .kernel = kernel,
				 .n_kernel = 1 };

	strcpy(sample.comm, "process");
	strcpy(sample.thread_name, comm);
	return sample;
}

/* The output of perf 6.1, `perf script -F +pid`. */
Test(perf_script, prints_what_perf_prints)
{
	struct report_context context = {
		.target = "t", .event = "cpu-clock", .hz = 99, .events = EVENT_BIT(DP_EVENT_CPU)
	};
	struct sample sample = sample_of("my thread");

	expect(&context, &sample,
	       "# ========\n#\n"
	       "my thread    42/43210 [001]   123.456789:   30303030 cpu-clock: \n"
	       "\tffffffff81000001 [unknown] ([kernel.kallsyms])\n"
	       "\t            1010 [unknown] (/usr/bin/a (b)?)\n"
	       "\t            7777 [unknown] ([unknown])\n"
	       "\t               0 [truncated: no_rule] ([unknown])\n"
	       "\n"
	       "# 1 samples, 2 lost, 0 of 1 with a user stack complete (0.0 %)\n");
}

/* Calls and cycles are counted; measured times have their duration. */
Test(perf_script, gives_periods_in_the_event_s_unit)
{
	struct report_context calls = { .target = "t", .event = "uprobe:/a b:f" };
	struct report_context cycles = {
		.target = "t", .event = "cycles", .hz = 99, .events = EVENT_BIT(DP_EVENT_CPU)
	};
	struct report_context wall = {
		.target = "t",
		.event = "cpu-clock",
		.hz = 99,
		.events = EVENT_BIT(DP_EVENT_CPU) | EVENT_BIT(DP_EVENT_OFF_CPU),
	};
	struct sample sample = sample_of("#");

	expect(&calls, &sample,
	       "\n_     42/43210 [001]   123.456789:          3 uprobe:/a_b:f: \n");
	expect(&cycles, &sample, ":          3 cycles: \n");
	sample.value_ns = 500;
	expect(&wall, &sample, ":       1500 wall: \n");
}

/* Readers skip samples without frames. */
Test(perf_script, gives_each_sample_a_frame)
{
	struct report_context context = {
		.target = "t", .event = "cpu-clock", .hz = 99, .events = EVENT_BIT(DP_EVENT_CPU)
	};
	struct sample sample = sample_of("x\n y");

	sample.n_user = sample.n_kernel = 0;
	sample.outcome = DP_KERNEL_ONLY;
	expect(&context, &sample,
	       "\nx? y    42/43210 [001]   123.456789:   30303030 cpu-clock: \n"
	       "\t               0 [unknown] ([unknown])\n\n");
}
