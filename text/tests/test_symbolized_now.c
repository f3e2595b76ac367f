// SPDX-License-Identifier: Apache-2.0
/* Reports that commands show at once: the stacks of `dump`, the tables of `top`. */
#include <criterion/criterion.h>

#include "report/report_queue.h"
#include "report/report.h"
#include "symbols/tests/some_names.h"
#include "text/text.h"

static struct module program = {
	.name = "prog", .path = (char *)"/usr/bin/prog", .fd = -1, .symtab_tried = true
};

static const struct frame frames[] = {
	{ 0x5010, 0x1010, &program, DP_METHOD_LEAF },
	{ 0x7777, 0, NULL, DP_METHOD_TABLE },
};

static const __u64 kernel[] = { 0xffffffff81000001 };

static char *text;
static size_t text_size;
static struct report *report;
static struct totals totals;

static void begin(const struct report_format *format)
{
	const struct report_context context = {
		.target = "prog\033[2J (PID 42)",
		.event = "cpu-clock",
		.hz = 99,
		.events = EVENT_BIT(DP_EVENT_CPU),
		.symbols = true,
		.names = program.names = some_names(),
	};

	cr_assert(report_new(format, &context, open_memstream(&text, &text_size), &report) == 0);
}

static void add(enum dp_event event, enum dp_state state, enum dp_outcome outcome, size_t n_user)
{
	struct sample sample = { .event = event,
				 .state = state,
				 .weight = 1,
				 .pid = 42,
				 .tid = 43,
				 .comm = "my prog",
				 .thread_name = "wor\nker",
				 .outcome = outcome,
				 .user = frames,
				 .n_user = n_user,
				 .kernel = kernel,
				 .n_kernel = event == DP_EVENT_OFF_CPU };

	totals.samples++;
	totals.events++;
	totals.outcomes[outcome]++;
	cr_assert(report_add(report, &sample, &totals) == 0);
}

static void finish(void)
{
	cr_assert(report_finish(report, &totals) == 0);
	fclose(report->to);
	report_free(report);
}

Test(symbolized_now, stacks_in_full)
{
	begin(&report_stacks);
	add(DP_EVENT_OFF_CPU, DP_STATE_DISK_SLEEP, DP_COMPLETE, 2);
	add(DP_EVENT_CPU, DP_STATE_RUNNABLE, DP_NO_TABLE, 1);
	finish();
	cr_assert_str_eq(text, "PID 42 my prog\n\n"
			       "TID 43 wor?ker: blocked (D)\n"
			       "#0   0xffffffff81000001  0xffffffff81000001\n"
			       "#1   0x0000000000005010  [prog+0x1010]\n"
			       "#2   0x0000000000007777  0x7777\n\n"
			       "TID 43 wor?ker: running (R)\n"
			       "#0   0x0000000000005010  [prog+0x1010]\n"
			       "     [no_table: an address lies in code without any unwind "
			       "information, such as JIT code]\n");
	free(text);
}

/* A table per tick, with nothing from before the previous tick. */
Test(symbolized_now, tables_of_intervals)
{
	char *second;

	begin(&report_top);
	for (int i = 0; i < 3; i++)
		add(DP_EVENT_CPU, DP_STATE_RUNNABLE, DP_COMPLETE, 2);
	totals.duration_ns = 1000000000;
	cr_assert(report_tick(report, &totals) == 0);
	add(DP_EVENT_CPU, DP_STATE_RUNNABLE, DP_NO_RULE, 1);
	totals.lost = 5;
	totals.duration_ns = 3000000000;
	finish();

	cr_assert(strstr(text, "prog?[2J (PID 42), cpu-clock at 99 Hz, 1.0 s\n") == text);
	cr_assert(strstr(text, "last 1.0 s: 3 samples, 100.0 % complete, 0 lost; in all: 3, 100.0 "
			       "%, 0\n"));
	second = strstr(text, "\n\nprog?");
	cr_assert(second);
	cr_assert(strstr(second, "last 2.0 s: 1 samples, 0.0 % complete, 5 lost; in all: 4, 75.0 "
				 "%, 5\n"));
	cr_assert(strstr(text, "[unknown]") < second);
	cr_assert(strstr(second, "[unknown]") == NULL);
	cr_assert(strstr(second, " 100.0 %  100.0 %  [prog] "));
	free(text);
}

/* What the last tick has shown is not shown again at the end. */
Test(symbolized_now, nothing_new)
{
	struct report_queue *report_queue;

	begin(&report_top);
	cr_assert(report_queue_new(&report, 1, some_names(), false, &report_queue) == 0);
	totals.samples = 1;
	cr_assert(report_queue_tick(report_queue, &totals, 0) == 0);
	cr_assert(report_queue_finish(report_queue) == 0);
	report_queue_free(report_queue);
	finish();
	cr_assert(strstr(text, "last "));
	cr_assert(strstr(strstr(text, "last ") + 1, "last ") == NULL);
	free(text);
}
