// SPDX-License-Identifier: Apache-2.0
/* Crashes in words: what is said of the signal, the thread, frames and values, and how often. */
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "formats/tests/samples.h"
#include "report/tests/labels.h"
#include "report/value.h"
#include "text/text.h"

#define NS UINT64_C(1000000000)

static const struct label segv[] = { { .key = "signal", .text = "SIGSEGV" },
				     { .key = "signal.code", .text = "SEGV_MAPERR" },
				     { .key = "fault.address", .text = "0x10" } };
static const struct label values[] = {
	{ .key = "signal", .text = "SIGFPE" },
	{ .key = "signal.code", .text = "FPE_INTDIV" },
	{ .key = "route", .text = "/a\x1b[31m", .probe = 1 },
	{ .key = "size", .number = 3, .unit = "bytes", .probe = 1 },
	{ .key = "trace", .text = "4711" },
	{ .key = "user", .text = "me", .probe = 2 },
};

static void begin_crashes(void)
{
	struct report_context context = { .target = "prog (PID 42)",
					  .event = "crash",
					  .events = EVENT_BIT(DP_EVENT_CRASH),
					  .symbols = true,
					  .names = some_names(),
					  .started_ns = 23456789 };

	setenv("TZ", "UTC", 1);
	tzset(); /* which localtime_r() need not call */
	program.names = some_names();
	cr_assert(report_new(&report_crashes, &context, open_memstream(&text, &text_size),
			     &report) == 0);
}

static struct sample crash_of(const struct label *labels, size_t n)
{
	struct sample sample = sample_of(DP_COMPLETE);

	sample.event = DP_EVENT_CRASH;
	sample.labels = labels_of(labels, n, false);
	return sample;
}

static void add_crash(struct sample sample)
{
	add(sample);
	label_set_free((struct label_set *)sample.labels);
}

static void end(void)
{
	free(text);
}

TestSuite(crashes, .fini = end);

Test(crashes, are_said_in_words)
{
	begin_crashes();
	add_crash(crash_of(segv, ARRAY_SIZE(segv)));
	finish();
	cr_assert_str_eq(
		text,
		"\nCrash of my prog (PID 42), thread worker (TID 43), at 1970-01-01 00:00:00: "
		"SIGSEGV, address not mapped (SEGV_MAPERR), address 0x10\n"
		"#0   0x0000000000005010  [prog+0x1010]\n"
		"#1   0x0000000000005120  [prog+0x1120]\n"
		"#2   0x0000000000007777  0x7777\n");
}

/* Of each probe, its own. */
Test(crashes, have_values_beside_their_frame)
{
	struct sample sample = crash_of(values, ARRAY_SIZE(values));
	struct frame recursion[] = { frames[0], frames[1], frames[1], frames[2] };

	begin_crashes();
	recursion[1].probe = 1;
	recursion[3].probe = 2;
	sample.user = recursion;
	sample.n_user = ARRAY_SIZE(recursion);
	add_crash(sample);
	finish();
	cr_assert(strstr(text,
			 "SIGFPE, integer divided by zero, or result too large (FPE_INTDIV)\n"
			 "#0   0x0000000000005010  [prog+0x1010]\n"
			 "#1   0x0000000000005120  [prog+0x1120]  route=/a?[31m, size=3 bytes\n"
			 "#2   0x0000000000005120  [prog+0x1120]\n"
			 "#3   0x0000000000007777  0x7777  user=me\n"
			 "     with trace=4711\n"),
		  "%s", text);
}

/* The walk has not got there. */
Test(crashes, have_values_of_no_frame_at_the_end)
{
	struct sample sample = crash_of(values, ARRAY_SIZE(values));

	begin_crashes();
	sample.outcome = DP_READ_FAULT;
	add_crash(sample);
	finish();
	cr_assert(strstr(text, "  0x7777\n     [read_fault: "), "%s", text);
	cr_assert(strstr(text, "]\n     with route=/a?[31m, size=3 bytes, trace=4711, user=me\n"),
		  "%s", text);
}

Test(crashes, tell_what_was_called_where_there_is_no_code)
{
	struct sample sample = crash_of(segv, ARRAY_SIZE(segv));
	struct frame called[] = { { .method = DP_METHOD_LEAF }, frames[1], frames[2] };

	begin_crashes();
	called[1].method = DP_METHOD_STACK_TOP;
	sample.user = called;
	add_crash(sample);
	finish();
	cr_assert(strstr(text, "#0   0x0000000000000000  0x0\n"
			       "#1   0x0000000000005120  [prog+0x1120] (by the return address on "
			       "top of the stack)\n"),
		  "%s", text);
}

Test(crashes, leave_out_the_middle_of_long_stacks)
{
	struct sample sample = crash_of(segv, ARRAY_SIZE(segv));
	struct frame recursion[1000];

	begin_crashes();
	for (size_t i = 0; i < ARRAY_SIZE(recursion); i++)
		recursion[i] = frames[1];
	sample.user = recursion;
	sample.n_user = ARRAY_SIZE(recursion);
	add_crash(sample);
	finish();
	cr_assert(strstr(text,
			 "\n#49  0x0000000000005120  [prog+0x1120]\n     ... 901 more\n#951 "),
		  "%s", text);
	cr_assert(strstr(text, "\n#999 0x"));
}

Test(crashes, who_has_sent_the_signal)
{
	const struct label sent[] = { { .key = "signal", .text = "SIGABRT" },
				      { .key = "signal.code", .text = "SI_USER" },
				      { .key = "signal.sender", .number = 7, .unit = "" } };
	const struct label refused[] = { { .key = "signal", .text = "SIGSYS" },
					 { .key = "signal.code", .text = "SYS_SECCOMP" },
					 { .key = "signal.syscall", .number = 59, .unit = "" } };

	begin_crashes();
	add_crash(crash_of(sent, ARRAY_SIZE(sent)));
	add_crash(crash_of(refused, ARRAY_SIZE(refused)));
	finish();
	cr_assert(strstr(text, ": SIGABRT, sent with kill() (SI_USER), by process 7\n#0 "));
	cr_assert(strstr(text, "refused by seccomp (SYS_SECCOMP), system call 59\n#0 "));
}

Test(crashes, are_no_other_samples)
{
	begin_crashes();
	add(sample_of(DP_COMPLETE));
	finish();
	cr_assert_str_eq(text, "");
}

static size_t count(const char *word)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, word)); at++)
		n++;
	return n;
}

/* Ten at any time within a second; then it is said how many there were. */
Test(crashes, do_not_flood)
{
	struct sample sample = crash_of(segv, ARRAY_SIZE(segv));

	begin_crashes();
	for (size_t i = 0; i < 25; i++, sample.time_ns += NS / 100)
		add(sample);
	fflush(report->to);
	cr_assert_eq(count("Crash of"), 10);
	cr_assert_eq(count("not described"), 0);
	sample.time_ns += NS;
	add(sample);
	fflush(report->to);
	cr_assert(strstr(text, "\nCrashes not described in that second: 15\n\nCrash of"));
	for (size_t i = 0; i < 10; i++)
		add(sample);
	label_set_free((struct label_set *)sample.labels);
	finish();
	cr_assert_eq(count("Crash of"), 20);
	cr_assert(strstr(text, "\nCrashes not described in that second: 1\n"));
}

/* They have a name of their own, but no time, which a second kind of stacks would have. */
Test(crashes, beside_another_event)
{
	const struct report_context context = { .event = "cpu-clock",
						.hz = 100,
						.events = EVENT_BIT(DP_EVENT_CPU) |
							  EVENT_BIT(DP_EVENT_CRASH) };
	struct sample sample = sample_of(DP_COMPLETE);
	struct value values_of_both[VALUES_MAX];

	cr_assert_null(value_other_event(&context));
	cr_assert_str_eq(value_event_name(&context, &sample), "cpu-clock");
	cr_assert_eq(values_of(&context, values_of_both), 2);
	cr_assert_eq(value_of_sample(&values_of_both[1], &sample), 10000000);
	sample.event = DP_EVENT_CRASH;
	cr_assert_str_eq(value_event_name(&context, &sample), "crash");
	cr_assert_eq(value_of_sample(&values_of_both[0], &sample), 1);
	cr_assert_eq(value_of_sample(&values_of_both[1], &sample), 0);
}
