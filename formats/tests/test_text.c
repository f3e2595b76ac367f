// SPDX-License-Identifier: Apache-2.0
/* The text report, compared with the expected text. */
#include <criterion/criterion.h>
#include <pty.h>
#include <unistd.h>

#include "formats/report_format.h"
#include "formats/tests/samples.h"
#include "report/outcome.h"
#include "report/span_times.h"
#include "report/tests/labels.h"
#include "symbols/failures.h"

Test(text, tells_a_person_what_matters)
{
	begin("text");
	for (int i = 0; i < 3; i++)
		add(sample_of(DP_COMPLETE));
	add(sample_of(DP_READ_FAULT));
	totals.duration_ns = 2000000000;
	finish();
	cr_assert(strstr(text, "prog (PID 42), cpu-clock at 99 Hz, 2.0 s\n"));
	cr_assert(
		strstr(text, "Samples: 4, lost: 0, complete: 3 of 4 with a user stack (75.0 %)\n"));
	cr_assert(strstr(text, outcome_sentence(DP_READ_FAULT)));
	cr_assert(strstr(text, " 100.0 %  100.0 %  [prog] "), "%s", text);
	cr_assert(strstr(text, "   0.0 %  100.0 %  [unknown] "), "%s", text);
	free(text);
}

Test(text, tells_a_person_where_it_was_made)
{
	begin("text");
	report->context.command = "dwarfprof -p 42";
	report->context.host = "ma\x1b"
			       "chine";
	report->context.kernel = "Linux 6.1.0 x86_64";
	add(sample_of(DP_COMPLETE));
	finish();
	cr_assert(strstr(text, "\nCommand: dwarfprof -p 42\nHost: ma?chine\n"
			       "Kernel: Linux 6.1.0 x86_64\nSamples: 1, "),
		  "%s", text);
	free(text);
}

Test(text, tells_a_person_what_could_not_be_read)
{
	begin("text");
	add(sample_of(DP_COMPLETE));
	for (int i = 0; i <= PARSERS_SHOWN_FAILURES; i++)
		(void)failures_add(names_failures(some_names()), strdup("a\x1b file has no names"));
	finish();
	cr_assert(
		strstr(text,
		       "\nFiles that were not read, or not as a whole: 11\n  a? file has no names\n"),
		"%s", text);
	free(text);
}

/* Functions are binaries without symbols: a stack of n of them, from the root `f0` on. */
static struct module binaries[60];
static char names[60][24];
static struct frame chain[60];

static struct sample sample_of_chain(size_t n)
{
	struct sample sample = sample_of(DP_COMPLETE);

	for (size_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "f%zu", i);
		binaries[i] = (struct module){ .names = some_names(),
					       .name = names[i],
					       .path = names[i],
					       .fd = -1,
					       .symtab_tried = true };
		chain[n - 1 - i] = (struct frame){ 0, 0x100, &binaries[i], DP_METHOD_TABLE };
	}
	sample.user = chain;
	sample.n_user = n;
	return sample;
}

/* From root to leaf, each with the share of stacks with this prefix. */
Test(text, tells_a_person_the_hottest_stack)
{
	struct sample sample = sample_of_chain(4);

	begin("text");
	add(sample);
	chain[0].module = &program;
	for (int i = 0; i < 2; i++) {
		chain[0].offset += 8; /* the same function */
		add(sample);
	}
	chain[0].module = NULL;
	chain[1].module = NULL;
	add(sample);
	add(sample_of(DP_COMPLETE));
	finish();
	cr_assert(strstr(text, "\n\nHottest stack, 2 of 5 (40.0 %), of my prog\n"
			       "           80.0 %  [f0]\n"
			       "           80.0 %  [f1]\n"
			       "           60.0 %  [f2]\n"
			       "           40.0 %  [prog]\n"),
		  "%s", text);
	free(text);
}

/* Those of the stack's own calls, with their shares if they differ; samples that differ in them alone are one stack. */
Test(text, tells_a_person_values_beside_their_function)
{
	const char *const routes[] = { "/a", "/b\x1b[31m", "/a", "/a" };
	struct sample sample = sample_of_chain(4);

	begin("text");
	chain[3].probe = 1;
	chain[1].probe = 2;
	for (size_t i = 0; i < 4; i++) {
		const struct label labels[] = {
			{ .key = "route", .text = routes[i], .probe = 1 },
			{ .key = "size", .number = 3, .unit = "bytes", .probe = 2 },
			{ .key = "try", .number = 1, .unit = "", .probe = 2 },
			{ .key = "user", .text = "me" },
		};
		struct label_set *set = labels_of(labels, 4, false);

		sample.labels = set;
		add(sample);
		label_set_free(set);
	}
	sample.labels = NULL;
	sample.user = chain + 1;
	sample.n_user = 3;
	add(sample);
	finish();
	cr_assert(strstr(text, "\n\nHottest stack, 4 of 5 (80.0 %), of my prog\n"
			       "          100.0 %  [f0]  route=/a 75.0 %, route=/b?[31m 25.0 %\n"
			       "          100.0 %  [f1]\n"
			       "          100.0 %  [f2]  size=3 bytes, try=1\n"
			       "           80.0 %  [f3]\n"),
		  "%s", text);
	free(text);
}

/* Kernel and inlined functions and missing names are marked; recursion takes one line. */
Test(text, tells_a_person_of_what_kind_functions_are)
{
	struct sample sample = sample_of(DP_NO_RULE);

	sample.kernel = kernel;
	sample.n_kernel = 1;
	begin("text");
	add(sample);
	finish();
	cr_assert(strstr(text, "\n\nHottest stack, 1 of 1 (100.0 %), of my prog\n"
			       "          100.0 %  [truncated: no_rule]\n"
			       "          100.0 %  [unknown]\n"
			       "          100.0 %  [prog] (2 times, down to 100.0 %)\n"
			       "          100.0 %  0xffffffff81000001 (kernel)\n"),
		  "%s", text);
	free(text);
}

Test(text, tells_a_person_what_is_only_near)
{
	struct sample sample = sample_of_chain(2);

	begin("text");
	chain[0].method = DP_METHOD_JAVA_NEAR;
	add(sample);
	finish();
	cr_assert(strstr(text, "%  [f0]\n          100.0 %  [f1] (near)\n"), "%s", text);
	free(text);
}

Test(text, tells_a_person_both_ends_of_a_deep_stack)
{
	const char *stack;

	begin("text");
	add(sample_of_chain(60));
	finish();
	stack = strstr(text, "Hottest stack");
	cr_assert(strstr(stack, " [f9]\n         ... 20 more\n          100.0 %  [f30]\n"), "%s",
		  stack);
	cr_assert(strstr(stack, " [f58]\n          100.0 %  [f59]\n"), "%s", stack);
	free(text);
}

Test(text, tells_no_hottest_stack_without_samples)
{
	begin("text");
	finish();
	cr_assert_null(strstr(text, "Hottest"));
	free(text);
}

/* Returns what a terminal would show. */
static void show(char *shown, size_t size)
{
	struct report_context context = {
		.target = "prog", .event = "cpu-clock", .hz = 99, .events = EVENT_BIT(DP_EVENT_CPU)
	};
	struct sample sample = sample_of(DP_COMPLETE);
	int terminal, fd;
	size_t n = 0;
	ssize_t got;

	program.names = some_names();
	cr_assert(openpty(&terminal, &fd, NULL, NULL, NULL) == 0);
	memset(&totals, 0, sizeof(totals));
	cr_assert(report_new(report_format_by_name("text"), &context, fdopen(fd, "w"), &report) ==
		  0);
	add(sample);
	finish();
	/* In pieces, until no writer is left. */
	while ((got = read(terminal, shown + n, size - 1 - n)) > 0)
		n += (size_t)got;
	shown[n] = '\0';
	close(terminal);
}

Test(text, has_colours_for_terminals_that_want_them)
{
	char shown[8192];

	unsetenv("NO_COLOR");
	setenv("TERM", "xterm", 1);
	show(shown, sizeof(shown));
	cr_assert(strstr(shown, "\x1b[1mprog\x1b[0m, cpu-clock at 99 Hz") &&
			  strstr(shown, "\x1b[31m 100.0 %\x1b[0m  100.0 %  [prog] "),
		  "%s", shown);
	setenv("NO_COLOR", "", 1); /* counts as unset */
	show(shown, sizeof(shown));
	cr_assert(strchr(shown, '\x1b'));
	setenv("NO_COLOR", "1", 1);
	show(shown, sizeof(shown));
	cr_assert(!strchr(shown, '\x1b') && strstr(shown, "100.0 %  [prog] "));
	unsetenv("NO_COLOR");
	setenv("TERM", "dumb", 1);
	show(shown, sizeof(shown));
	cr_assert(!strchr(shown, '\x1b'));
}

/* Binaries without symbols, whose only function therefore has their name. */
Test(text, keeps_functions_of_different_binaries_apart)
{
	static struct module modules[] = {
		{ .name = "lib.so", .path = (char *)"/a/lib.so", .fd = -1, .symtab_tried = true },
		{ .name = "lib.so", .path = (char *)"/b/lib.so", .fd = -1, .symtab_tried = true },
	};
	const struct frame other[] = {
		{ 0x9010, 0x10, &modules[0], DP_METHOD_LEAF },
		{ 0xa010, 0x10, &modules[1], DP_METHOD_TABLE },
		{ 0x5120, 0x1120, &program, DP_METHOD_TABLE },
	};
	struct sample sample = sample_of(DP_COMPLETE);

	sample.user = other;
	modules[0].names = modules[1].names = some_names();
	begin("text");
	add(sample);
	finish();
	cr_assert(strstr(text, " 100.0 %  100.0 %  [lib.so] "), "%s", text);
	cr_assert(strstr(text, " /a/lib.so\n") && strstr(text, " /b/lib.so\n"), "%s", text);
	cr_assert(strstr(text, "   0.0 %  100.0 %  [prog] "), "%s", text);
	cr_assert(strstr(text, " prog\n"), "%s", text);
	free(text);
}

Test(text, tells_a_person_of_both_events)
{
	begin_times("text", true);
	finish();
	cr_assert(strstr(text, "prog (PID 42), cpu-clock and off-cpu, "), "%s", text);
	free(text);
}

Test(text, tells_a_person_times)
{
	struct sample other = block_of(DP_STATE_SLEEPING, 1000000);

	other.user = frames + 1;
	other.n_user = 2;
	begin_times("text", false);
	add(block_of(DP_STATE_SLEEPING, 3000000));
	other.weight = 2;
	add(other);
	totals.lost_ns = 1500000;
	finish();
	cr_assert(strstr(text, "\nScaled: the samples stand for 3 events\n"
			       "Time: 5.000 ms, lost: 1.500 ms\n"),
		  "%s", text);
	cr_assert(strstr(text, "100.0 %  100.0 %      5.000 ms  [prog]"), "%s", text);
	free(text);
}

Test(text, tells_a_person_how_long_calls_took)
{
	struct span_times calls = { .name = "han\x1b"
					    "dle",
				    .min_ns = 5000000,
				    .n_begun = 40,
				    .n_long = 3,
				    .n_unbegun = 2 };

	calls.n_returned[dp_span_step(4200000)] = 20;
	calls.n_returned[dp_span_step(5300000)] = 10;
	calls.n_left[dp_span_step(9000000)] = 1;
	begin("text");
	add(sample_of(DP_COMPLETE));
	totals.calls = &calls;
	totals.outside = 17;
	totals.in_unknown = 4;
	finish();
	cr_assert(strstr(text, "\nLeft out: 17 samples in no call of at least 5 ms, unknown: 4\n"),
		  "%s", text);
	cr_assert(strstr(text,
			 "\nCalls of han?dle: 40, of at least 5 ms: 3, not seen to return: 10\n"
			 "  and 2 that began before, or were not kept\n"
			 "   4.19 ms to  8.39 ms         30   75.0 %\n"
			 "   8.39 ms to  16.8 ms          0    0.0 %"
			 "  and 1 or longer, not seen to return\n"),
		  "%s", text);
	free(text);
}
