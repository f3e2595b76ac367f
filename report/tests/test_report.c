// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <jansson.h>

#include "outcome.h"
#include "report.h"

/* Samples made up from nothing but addresses: modules without symbols. */
static struct module program = {
	.name = "prog", .path = (char *)"/usr/bin/prog", .fd = -1, .symtab_tried = true
};

static const struct frame frames[] = {
	{ 0x5010, 0x1010, &program, DP_METHOD_LEAF },
	{ 0x5120, 0x1120, &program, DP_METHOD_TABLE },
	{ 0x7777, 0, NULL, DP_METHOD_FRAME_POINTER },
};

static const __u64 kernel[] = { 0xffffffff81000001, 0xffffffff81000100 };

static struct sample sample_of(enum dp_outcome outcome)
{
	return (struct sample){ .time_ns = 123456789,
				.cpu = 1,
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

static void begin(const char *format)
{
	struct report_context context = {
		.target = "prog (PID 42)", .event = "cpu-clock", .hz = 99, .symbols = true
	};

	cr_assert(report_new(report_format_by_name(format), &context,
			     open_memstream(&text, &text_size), &report) == 0);
}

static void add(struct sample sample)
{
	totals.samples++;
	totals.outcomes[sample.outcome]++;
	cr_assert(report_add(report, &sample, &totals) == 0);
}

static void finish(void)
{
	cr_assert(report_finish(report, &totals) == 0);
	fclose(report->to);
	report_free(report);
}

Test(report, finds_formats_by_name_and_extension)
{
	cr_assert_str_eq(report_format_by_name("jsonl")->name, "jsonl");
	cr_assert_str_eq(report_format_by_path("out.folded")->name, "folded");
	cr_assert_str_eq(report_format_by_path("dir.jsonl/out.collapsed")->name, "folded");
	cr_assert_str_eq(report_format_by_path("a.txt")->name, "text");
	cr_assert(report_format_by_name("svg") == NULL);
	cr_assert(report_format_by_path("out.svg") == NULL);
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

/* A stack that is not complete says so at its root, and why; losses are a line of their own. */
Test(report, folds_truncated_stacks_apart)
{
	begin("folded");
	add(sample_of(DP_COMPLETE));
	add(sample_of(DP_NO_RULE));
	for (int i = 0; i < 3; i++)
		add((struct sample){ .outcome = DP_NO_USER_STACK, .comm = "my prog" });
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
	cr_assert_str_eq(string_at(json, "kernel_stack_error"), "Bad address");
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

/* The kernel cuts names at 15 bytes, also inside a character; what is one stays. */
Test(report, replaces_only_bytes_that_are_not_utf8)
{
	expect_comm("grüße", "grüße");
	expect_comm("größenvergle\xc3", "größenvergle?");
	expect_comm("größe\xe2\x82", "größe??");
	expect_comm("\x80ä\xff€", "?ä?€");
	/* Longer than need be, a surrogate, behind the last character */
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

Test(report, tells_a_person_what_matters)
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

/* Binaries without symbols, whose only function is therefore called like themselves. */
Test(report, keeps_functions_of_different_binaries_apart)
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
	begin("text");
	add(sample);
	finish();
	cr_assert(strstr(text, " 100.0 %  100.0 %  [lib.so] "), "%s", text);
	cr_assert(strstr(text, " /a/lib.so\n") && strstr(text, " /b/lib.so\n"), "%s", text);
	cr_assert(strstr(text, "   0.0 %  100.0 %  [prog] "), "%s", text);
	cr_assert(strstr(text, " prog\n"), "%s", text);
	free(text);
}

/* What a target calls itself and its files is not for the terminal to obey. */
Test(report, shows_control_characters_to_nobody)
{
	static struct module evil = { .name = "e\x1b[2J\xc2\x9b\n\x7fä\xff",
				      .path = (char *)"/e\x1b[2J\xc2\x9b\n\x7fä\xff",
				      .fd = -1,
				      .symtab_tried = true };
	static const struct frame frame = { 0x10, 0x10, &evil, DP_METHOD_LEAF };
	struct report_context context = { .target = "\x1b]0;x\a", .event = "uprobe:\r:x" };
	struct sample sample = sample_of(DP_COMPLETE);

	sample.user = &frame;
	sample.n_user = 1;
	strcpy(sample.comm, "\x1b[2J");
	begin("text");
	report->context = context;
	add(sample);
	finish();
	cr_assert(strstr(text, "[e?[2J????ä?] "), "%s", text);
	cr_assert(strstr(text, " e?[2J????ä?\n"), "%s", text);
	cr_assert(strstr(text, "?]0;x?, uprobe:?:x"), "%s", text);
	free(text);
	begin("folded");
	add(sample);
	finish();
	cr_assert(strncmp(text, "_[2J;[e?[2J????ä?+0x10] 1\n", 27) == 0, "%s", text);
	free(text);
}

/* Every outcome and method has a word of its own, fit for scripts, and a sentence. */
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
