// SPDX-License-Identifier: Apache-2.0
/* Folded stacks, jsonl and others of a few samples, compared with the expected text. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>

#include "formats/report_format.h"
#include "formats/tests/samples.h"
#include "limits/limits.h"
#include "report/outcome.h"
#include "report/verified.h"

Test(report, finds_formats_by_name_and_extension)
{
	cr_assert_str_eq(report_format_by_name("jsonl")->name, "jsonl");
	cr_assert_str_eq(report_format_by_path("out.folded")->name, "folded");
	cr_assert_str_eq(report_format_by_path("dir.jsonl/out.collapsed")->name, "folded");
	cr_assert_str_eq(report_format_by_path("a.txt")->name, "text");
	cr_assert_str_eq(report_format_by_path("cpu.pb.gz")->name, "pprof");
	cr_assert_str_eq(report_format_by_path("a.jsonl.json")->name, "json");
	cr_assert(report_format_by_path("a.gz") == NULL);
	cr_assert_str_eq(report_format_by_path("a.speedscope.json")->name, "speedscope");
	cr_assert(report_format_by_name("png") == NULL);
	cr_assert(report_format_by_path("out.png") == NULL);
	cr_assert(report_format_by_path(".folded") == NULL);
}

Test(report, folds_equal_stacks)
{
	begin("folded");
	add(sample_of(DP_COMPLETE));
	add(sample_of(DP_COMPLETE));
	finish();
	cr_assert_str_eq(text, "my_prog;0x7777;[prog+0x1120];[prog+0x1010] 2\n"
			       "[totals: 2 samples, 0 lost, 2 of 2 with a user stack complete "
			       "(100.0 %)] 0\n");
	free(text);
}

/* An incomplete stack has its outcome at its root; losses have a line of their own. */
Test(report, folds_truncated_stacks_apart)
{
	begin("folded");
	add(sample_of(DP_COMPLETE));
	add(sample_of(DP_NO_RULE));
	for (int i = 0; i < 3; i++)
		add((struct sample){ .outcome = DP_NO_USER_STACK, .comm = "my prog", .weight = 1 });
	totals.lost = 7;
	finish();
	cr_assert_str_eq(text, "my_prog;0x7777;[prog+0x1120];[prog+0x1010] 1\n"
			       "my_prog;[truncated: no_rule];0x7777;[prog+0x1120];[prog+0x1010] 1\n"
			       "my_prog;[truncated: no_user_stack] 3\n"
			       "[lost samples] 7\n"
			       "[totals: 5 samples, 7 lost, 1 of 2 with a user stack complete "
			       "(50.0 %), 1 no_rule, 3 no_user_stack] 0\n");
	free(text);
}

Test(report, folds_kernel_frames_above_the_user_s)
{
	struct sample sample = sample_of(DP_COMPLETE);

	sample.kernel = kernel;
	sample.n_kernel = 2;
	sample.n_user = 1;
	strcpy(sample.comm, "a;b\nc");
	begin("folded");
	add(sample);
	finish();
	cr_assert(strstr(text,
			 "a:b_c;[prog+0x1010];0xffffffff81000100_[k];0xffffffff81000001_[k] 1\n"));
	free(text);
}

/*
 * Time in the kernel is shown even if nothing is known of the stack; without a user stack it is no
 * loss.
 */
Test(report, folds_kernel_stacks_that_are_missing)
{
	struct sample sample = sample_of(DP_COMPLETE);

	sample.n_user = 1;
	begin("folded");
	add(sample);
	sample.kernel_error = DP_KERNEL_HIDDEN;
	add(sample);
	sample.kernel_error = -14;
	add(sample);
	sample.outcome = DP_KERNEL_ONLY;
	sample.n_user = 0;
	add(sample);
	finish();
	cr_assert_str_eq(text, "my_prog;[kernel]_[k] 1\n"
			       "my_prog;[prog+0x1010] 1\n"
			       "my_prog;[prog+0x1010];[kernel]_[k] 2\n"
			       "[totals: 4 samples, 0 lost, 3 of 3 with a user stack complete "
			       "(100.0 %), 1 kernel_only] 0\n");
	free(text);
}

static const char *string_at(const json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}

Test(report, streams_samples_as_json)
{
	struct sample sample = sample_of(DP_NO_RULE);
	json_t *json, *frame;

	sample.kernel = kernel;
	sample.n_kernel = 1;
	sample.kernel_error = -14;
	strcpy(sample.comm, "caf\xe9"); /* not UTF-8 */
	begin("jsonl");
	add(sample);
	finish();
	cr_assert(text[text_size - 1] == '\n' && strchr(text, '\n') == text + text_size - 1);
	json = json_loads(text, 0, NULL);
	cr_assert(json);
	cr_assert(json_integer_value(json_object_get(json, "time_ns")) == 123456789);
	cr_assert(json_integer_value(json_object_get(json, "pid")) == 42);
	cr_assert(json_integer_value(json_object_get(json, "tid")) == 43);
	cr_assert_str_eq(string_at(json, "comm"), "caf?");
	cr_assert_str_eq(string_at(json, "thread_name"), "worker");
	cr_assert_str_eq(string_at(json, "event"), "cpu-clock");
	cr_assert_str_eq(string_at(json, "outcome"), "no_rule");
	cr_assert_str_eq(string_at(json, "user_stack_error"), outcome_sentence(DP_NO_RULE));
	cr_assert_str_eq(string_at(json, "kernel_stack_error"), "EFAULT");
	cr_assert(json_array_size(json_object_get(json, "user_stack")) == 3);
	frame = json_array_get(json_object_get(json, "user_stack"), 1);
	cr_assert_str_eq(string_at(frame, "address"), "0x5120");
	cr_assert_str_eq(string_at(frame, "module"), "/usr/bin/prog");
	cr_assert_str_eq(string_at(frame, "offset"), "0x1120");
	cr_assert_str_eq(string_at(frame, "method"), "table");
	cr_assert(json_is_null(json_object_get(frame, "symbol")));
	frame = json_array_get(json_object_get(json, "user_stack"), 2);
	cr_assert(json_is_null(json_object_get(frame, "module")));
	cr_assert(json_is_null(json_object_get(frame, "offset")));
	frame = json_array_get(json_object_get(json, "kernel_stack"), 0);
	cr_assert_str_eq(string_at(frame, "address"), "0xffffffff81000001");
	json_decref(json);
	free(text);
}

static void expect_comm(const char *comm, const char *expected)
{
	struct sample sample = sample_of(DP_COMPLETE);
	json_t *json;

	strcpy(sample.comm, comm);
	begin("jsonl");
	add(sample);
	finish();
	json = json_loads(text, 0, NULL);
	cr_assert(json, "%s", text);
	cr_assert_str_eq(string_at(json, "comm"), expected);
	json_decref(json);
	free(text);
}

/* The kernel cuts names at 15 bytes, even inside a character; complete ones stay. */
Test(report, replaces_only_bytes_that_are_not_utf8)
{
	expect_comm("grüße", "grüße");
	expect_comm("größenvergle\xc3", "größenvergle?");
	expect_comm("größe\xe2\x82", "größe??");
	expect_comm("\x80ä\xff€", "?ä?€");
	/* An overlong encoding, a surrogate, beyond the last character */
	expect_comm("\xc0\xaf\xe0\x80\xaf", "?????");
	expect_comm("\xed\xa0\x80 \xf0\x9f\x98\x80", "??? \xf0\x9f\x98\x80");
	expect_comm("\xf4\x90\x80\x80\xf8", "?????");
}

Test(report, streams_complete_samples_without_errors)
{
	json_t *json;

	begin("jsonl");
	add(sample_of(DP_COMPLETE));
	finish();
	json = json_loads(text, 0, NULL);
	cr_assert(json_is_null(json_object_get(json, "user_stack_error")));
	cr_assert(json_is_null(json_object_get(json, "kernel_stack_error")));
	json_decref(json);
	free(text);
}

/* A terminal must not obey names that a target has chosen. */
Test(report, shows_control_characters_to_nobody)
{
	static struct module evil = { .name = "e\x1b[2J\xc2\x9b\n\x7fä\xe2\x80\xae\xff",
				      .path = (char *)"/e\x1b[2J\xc2\x9b\n\x7fä\xe2\x80\xae\xff",
				      .fd = -1,
				      .symtab_tried = true };
	static const struct frame frame = { 0x10, 0x10, &evil, DP_METHOD_LEAF };
	struct report_context context = { .target = "\x1b]0;x\a", .event = "uprobe:\r:x" };
	struct sample sample = sample_of(DP_COMPLETE);

	evil.names = some_names();
	sample.user = &frame;
	sample.n_user = 1;
	strcpy(sample.comm, "\x1b[2J");
	begin("text");
	report->context = context;
	add(sample);
	finish();
	cr_assert(strstr(text, "[e?[2J????ä????] "), "%s", text);
	cr_assert(strstr(text, " e?[2J????ä????\n"), "%s", text);
	cr_assert(strstr(text, "?]0;x?, uprobe:?:x"), "%s", text);
	free(text);
	begin("folded");
	add(sample);
	finish();
	cr_assert(strncmp(text, "_[2J;[e?[2J????ä????+0x10] 1\n", 30) == 0, "%s", text);
	free(text);
}

static json_t *stream_verified(const struct verified_stack *verified)
{
	struct sample sample = sample_of(DP_COMPLETE);
	json_t *json;

	sample.verified = verified;
	begin("jsonl");
	add(sample);
	finish();
	json = json_loads(text, 0, NULL);
	cr_assert(json, "%s", text);
	free(text);
	return json;
}

/* To examine a difference, both stacks and the reason for libdwfl's end are needed. */
Test(report, streams_what_libdwfl_has_found)
{
	struct verified_stack verified = { VERIFIED_DIFFERS, 1, frames, 2, "no matching row" };
	json_t *json = stream_verified(&verified), *stack;

	stack = json_object_get(json, "verified_stack");
	cr_assert_str_eq(string_at(json, "verified"), "differs");
	cr_assert_eq(json_array_size(stack), 2);
	cr_assert_str_eq(string_at(json_array_get(stack, 1), "address"), "0x5120");
	cr_assert_str_eq(string_at(json, "verified_end"), "no matching row");
	json_decref(json);

	verified.end = NULL;
	json = stream_verified(&verified);
	cr_assert(json_is_null(json_object_get(json, "verified_end")));
	json_decref(json);

	verified.result = VERIFIED_EQUAL;
	json = stream_verified(&verified);
	cr_assert_str_eq(string_at(json, "verified"), "equal");
	cr_assert_null(json_object_get(json, "verified_stack"));
	json_decref(json);
}

static uintptr_t call_address;

__attribute__((noinline)) static void note_call(void)
{
	call_address = (uintptr_t)__builtin_return_address(0);
}

static inline __attribute__((always_inline)) void inner(void)
{
	note_call();
	totals.lost = 0;
}

__attribute__((noinline)) static void outer(void)
{
	inner();
	totals.samples = 0;
}

/* A sample of this program, in a call made by inner(), which is inlined into outer(). */
static struct sample sample_of_inner(struct frame *frame)
{
	struct module *module = module_new(some_names(), "/proc/self/exe", "",
					   open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	extern const char __executable_start;

	outer();
	*frame = (struct frame){ call_address, call_address - (uintptr_t)&__executable_start,
				 module, DP_METHOD_TABLE };
	return (struct sample){
		.outcome = DP_COMPLETE, .comm = "test", .user = frame, .n_user = 1, .weight = 1
	};
}

Test(inlined, is_told_by_each_format)
{
	struct frame frame;
	struct sample sample = sample_of_inner(&frame);
	const char *symbol, *file, *address[2];
	json_t *json, *stack;
	int line, inlined;

	begin("folded");
	add(sample);
	finish();
	cr_assert(strncmp(text, "test;outer;inner_[i] 1\n", 23) == 0, "%s", text);
	free(text);

	begin("text");
	add(sample);
	finish();
	cr_assert(strstr(text, "  50.0 %   50.0 %  inner ") &&
			  strstr(text, "   0.0 %   50.0 %  outer ") &&
			  strstr(text, "  outer\n           50.0 %  inner (inlined)\n"),
		  "%s", text);
	free(text);

	begin("jsonl");
	add(sample);
	finish();
	json = json_loads(text, 0, NULL);
	stack = json_object_get(json, "user_stack");
	cr_assert_eq(json_array_size(stack), 2);
	for (size_t i = 0; i < 2; i++) {
		cr_assert(json_unpack(json_array_get(stack, i), "{s:s, s:s, s:s, s:i, s:b}",
				      "address", &address[i], "symbol", &symbol, "file", &file,
				      "line", &line, "inlined", &inlined) == 0);
		cr_assert_str_eq(symbol, i == 0 ? "inner" : "outer");
		cr_assert(strstr(file, "/test_report.c") && line > 0 && inlined == (i == 0));
	}
	cr_assert_str_eq(address[0], address[1]);
	json_decref(json);
	free(text);
	module_free(frame.module);
}

/* As much as other samples, of which each stands for several events, on average. */
Test(report, folds_losses_by_the_others_weight)
{
	struct sample sample = sample_of(DP_COMPLETE);

	begin("folded");
	sample.weight = 1000;
	add(sample);
	sample.weight = 1001;
	add(sample);
	totals.lost = 7;
	finish();
	cr_assert_str_eq(text, "my_prog;0x7777;[prog+0x1120];[prog+0x1010] 2001\n"
			       "[lost samples] 7003\n"
			       "[totals: 2 samples, 7 lost, 2 of 2 with a user stack complete "
			       "(100.0 %), scaled to 2001 events] 0\n");
	free(text);
}

/* No other tells, but the period was given. */
Test(report, folds_losses_by_the_period_if_there_are_no_others)
{
	begin_with("folded", &(struct report_context){ .target = "prog (PID 42)",
						       .event = "page-faults",
						       .period = 1000,
						       .events = EVENT_BIT(DP_EVENT_CPU) });
	totals.lost = 7;
	finish();
	cr_assert(strstr(text, "[lost samples] 7000\n"), "%s", text);
	free(text);
}

/* Nanoseconds are added before rounding. */
Test(report, folds_times_in_microseconds)
{
	begin_times("folded", false);
	for (int i = 0; i < 4; i++)
		add(block_of(DP_STATE_SLEEPING, 1400));
	totals.lost = 3;
	totals.lost_ns = 2500000;
	finish();
	cr_assert_str_eq(text, "my_prog;0x7777;[prog+0x1120];[prog+0x1010] 6\n"
			       "[lost samples] 2500\n"
			       "[totals: 4 samples, 3 lost, 4 of 4 with a user stack complete "
			       "(100.0 %), in microseconds] 0\n");
	free(text);
}

Test(report, folds_wall_time_with_states_as_leaves)
{
	struct sample running = sample_of(DP_COMPLETE);

	running.value_ns = 1000000;
	begin_times("folded", true);
	add(running);
	add(block_of(DP_STATE_SLEEPING, 5000000));
	add(block_of(DP_STATE_DISK_SLEEP, 7000000));
	add(block_of(DP_STATE_SLEEPING, 5000000));
	finish();
	cr_assert_str_eq(text, "my_prog;0x7777;[prog+0x1120];[prog+0x1010] 1000\n"
			       "my_prog;0x7777;[prog+0x1120];[prog+0x1010];[off-cpu D] 7000\n"
			       "my_prog;0x7777;[prog+0x1120];[prog+0x1010];[off-cpu S] 10000\n"
			       "[totals: 4 samples, 0 lost, 4 of 4 with a user stack complete "
			       "(100.0 %), in microseconds] 0\n");
	free(text);
}

Test(report, scales_by_weights)
{
	struct sample many = sample_of(DP_COMPLETE), few = sample_of(DP_NO_RULE);

	many.weight = 30;
	few.weight = 10;
	begin("folded");
	add(many);
	add(many);
	add(few);
	finish();
	cr_assert_str_eq(text,
			 "my_prog;0x7777;[prog+0x1120];[prog+0x1010] 60\n"
			 "my_prog;[truncated: no_rule];0x7777;[prog+0x1120];[prog+0x1010] 10\n"
			 "[totals: 3 samples, 0 lost, 2 of 3 with a user stack complete "
			 "(66.7 %), 1 no_rule, scaled to 70 events] 0\n");
	free(text);
}

Test(report, streams_blocks)
{
	struct sample block = block_of(DP_STATE_DISK_SLEEP, 1234567);
	json_t *json;

	block.weight = 3;
	begin_times("jsonl", true);
	add(block);
	add(sample_of(DP_COMPLETE));
	finish();
	json = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
	cr_assert_str_eq(json_string_value(json_object_get(json, "event")), "off-cpu");
	cr_assert_str_eq(json_string_value(json_object_get(json, "state")), "D");
	cr_assert_eq(json_integer_value(json_object_get(json, "value_ns")), 1234567);
	cr_assert_eq(json_integer_value(json_object_get(json, "weight")), 3);
	json_decref(json);
	json = json_loads(strchr(text, '\n') + 1, JSON_DISABLE_EOF_CHECK, NULL);
	cr_assert_str_eq(json_string_value(json_object_get(json, "event")), "cpu-clock");
	cr_assert(json_is_null(json_object_get(json, "state")));
	cr_assert(json_is_null(json_object_get(json, "value_ns")));
	json_decref(json);
	free(text);
}

static int put_line(struct report *to, const struct totals *of)
{
	/*
	 * Written at once, as if the buffer were full: report_finish() has nothing left to write.
	 */
	return fputs(of ? "totals\n" : "none\n", to->to) == EOF ? -EIO : 0;
}

/* The reason for a write that failed long before. */
Test(report, says_why_it_could_not_be_written)
{
	struct report lines = { .finish = put_line, .to = fopen("/dev/full", "w") };

	setvbuf(lines.to, NULL, _IONBF, 0);
	cr_assert_eq(report_finish(&lines, &totals), -ENOSPC);
	fclose(lines.to);
}

Test(outcome, has_letters_of_states)
{
	cr_assert_eq(state_letter(DP_STATE_RUNNABLE), 'R');
	cr_assert_eq(state_letter(DP_STATE_TRACED), 't');
	cr_assert_eq(state_letter(DP_N_STATES), '?');
}

/* Every outcome and method has a unique word for scripts, and a sentence. */
Test(outcome, has_words_and_sentences)
{
	for (int i = DP_COMPLETE; i < DP_N_OUTCOMES; i++) {
		const char *word = outcome_word(i);

		cr_assert(strspn(word, "abcdefghijklmnopqrstuvwxyz_") == strlen(word), "%s", word);
		cr_assert(strlen(outcome_sentence(i)) > 10);
		for (int j = DP_COMPLETE; j < i; j++)
			cr_assert_str_neq(word, outcome_word(j));
	}
	cr_assert_str_eq(outcome_word(999), "unknown");
	cr_assert_str_eq(method_word(DP_METHOD_FRAME_POINTER), "frame_pointer");
}

static int add_string(struct report *to, const struct sample *sample, const struct totals *of)
{
	char string[32];
	uint32_t number;

	snprintf(string, sizeof(string), "%lu", sample->time_ns);
	return string_table_add(&to->strings, string, &number);
}

/* A report that streams for months does not keep all names; others refer to theirs. */
Test(report, forgets_strings_if_it_streams)
{
	struct report streams = { .streams = true, .add = add_string };
	struct report keeps = { .add = add_string };
	size_t most = 0;

	for (uint64_t i = 0; i < 3 * REPORT_MAX_STRINGS; i++) {
		struct sample sample = { .time_ns = i };

		cr_assert_eq(report_add(&streams, &sample, &totals), 0);
		cr_assert_eq(report_add(&keeps, &sample, &totals), 0);
		most = streams.strings.n > most ? streams.strings.n : most;
	}
	cr_assert_eq(most, REPORT_MAX_STRINGS);
	cr_assert_eq(keeps.strings.n, 3 * REPORT_MAX_STRINGS);
	string_table_done(&streams.strings);
	string_table_done(&keeps.strings);
}

/* The formats that stream. */
Test(report, knows_which_formats_stream)
{
	begin("perf-script");
	cr_assert(report->streams && !report->forgets);
	finish();
	free(text);
	begin("folded");
	cr_assert(!report->streams && !report->forgets);
	finish();
	free(text);
}
