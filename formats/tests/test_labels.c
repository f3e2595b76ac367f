// SPDX-License-Identifier: Apache-2.0
/* Every format with labels has all of a sample's label set, and those that every sample has. */
#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "formats/tests/samples.h"
#include "limits/limits.h"
#include "recording/recording_reader.h"
#include "report/group.h"
#include "report/label_counts.h"
#include "report/own_label.h"
#include "report/tests/labels.h"
#include "text/text.h"

static const struct label labels[] = {
	{ .key = "phase", .text = "warm;up" },
	{ .key = "request_size", .number = 4096, .unit = "bytes" },
	{ .key = "try", .number = -2, .unit = "" },
};

static struct label_set *set;

static void end(void)
{
	free(text);
	label_set_free(set);
}

TestSuite(labels, .fini = end);

static void write_labelled(const char *format)
{
	struct sample sample = sample_of(DP_COMPLETE), other = sample;

	set = labels_of(labels, 3, true);
	sample.labels = set;
	begin(format);
	add(sample);
	add(other);
	finish();
}

/* As with --by KEY. */
static void write_grouped(const char *format, const char *key)
{
	struct sample sample = sample_of(DP_COMPLETE), other = sample;
	static struct group group;

	set = labels_of(labels, 3, true);
	sample.labels = set;
	cr_assert_eq(group_parse(key, &group), 0);
	begin_with(format, &(struct report_context){ .target = "prog (PID 42)",
						     .event = "cpu-clock",
						     .hz = 99,
						     .events = EVENT_BIT(DP_EVENT_CPU),
						     .by = &group });
	add(sample);
	other.cpu = 3;
	other.weight = 3;
	add(other);
	finish();
}

static void expect_text(const char *expected)
{
	cr_assert(strstr(text, expected), "no %s in %s", expected, text);
}

static void expect_json(const json_t *sample)
{
	const json_t *has = json_object_get(sample, "labels");
	const json_t *units = json_object_get(sample, "label_units");

	cr_assert_eq(json_object_size(has), 3);
	cr_assert_str_eq(json_string_value(json_object_get(has, "phase")), "warm;up");
	cr_assert_eq(json_integer_value(json_object_get(has, "request_size")), 4096);
	cr_assert_eq(json_integer_value(json_object_get(has, "try")), -2);
	cr_assert_eq(json_object_size(units), 1);
	cr_assert_str_eq(json_string_value(json_object_get(units, "request_size")), "bytes");
	cr_assert(json_is_true(json_object_get(sample, "labels_cut")));
}

/* Values are beside the last function of their call's frame, too. */
Test(labels, of_calls_are_beside_their_frame)
{
	const struct label of_calls[] = {
		{ .key = "route", .text = "/login", .probe = 2 },
		{ .key = "size", .number = 3, .unit = "bytes", .probe = 1 },
		{ .key = "trace", .text = "4711" }
	};
	struct frame probed[] = { frames[0], frames[1], frames[2] };
	struct sample sample = sample_of(DP_COMPLETE);
	json_t *json, *stack, *values;

	probed[1].probe = 1;
	probed[2].probe = 2;
	set = labels_of(of_calls, 3, false);
	sample.labels = set;
	sample.user = probed;
	begin("jsonl");
	add(sample);
	finish();
	json = json_loads(text, 0, NULL);
	stack = json_object_get(json, "user_stack");
	cr_assert_null(json_object_get(json_array_get(stack, 0), "values"));
	values = json_object_get(json_array_get(stack, 1), "values");
	cr_assert_eq(json_object_size(values), 1);
	cr_assert_eq(json_integer_value(json_object_get(values, "size")), 3);
	values = json_object_get(json_array_get(stack, 2), "values");
	cr_assert_eq(json_object_size(values), 1);
	cr_assert_str_eq(json_string_value(json_object_get(values, "route")), "/login");
	cr_assert_eq(json_object_size(json_object_get(json, "labels")), 3);
	json_decref(json);
}

static void expect_no_labels(const json_t *sample)
{
	cr_assert(json_is_null(json_object_get(sample, "labels")));
	cr_assert_null(json_object_get(sample, "label_units"));
	cr_assert(json_is_false(json_object_get(sample, "labels_cut")));
}

static void expect_lines(char *lines)
{
	char *second = strchr(lines, '\n') + 1;
	json_t *first = json_loads(lines, JSON_DISABLE_EOF_CHECK, NULL);
	json_t *other = json_loads(second, JSON_DISABLE_EOF_CHECK, NULL);

	expect_json(first);
	expect_no_labels(other);
	json_decref(first);
	json_decref(other);
}

Test(labels, are_in_json_lines)
{
	write_labelled("jsonl");
	expect_lines(text);
}

Test(labels, are_in_json)
{
	json_t *json, *stacks;

	write_labelled("json");
	json = json_loads(text, 0, NULL);
	stacks = json_object_get(json, "stacks");
	cr_assert_eq(json_array_size(stacks), 2, "which count apart");
	expect_json(json_array_get(stacks, 0));
	expect_no_labels(json_array_get(stacks, 1));
	json_decref(json);
}

Test(labels, are_in_folded_stacks)
{
	write_labelled("folded");
	expect_text("my_prog;[phase=warm:up];[request_size=4096 bytes];[try=-2];0x7777;");
	expect_text("my_prog;0x7777;");
}

Test(labels, have_their_shares_in_text)
{
	write_labelled("text");
	expect_text("\nBy label\n"
		    "           50.0 %  phase=warm;up\n"
		    "           50.0 %  request_size=4096 bytes\n"
		    "           50.0 %  try=-2\n\n");
}

Test(labels, have_no_part_in_text_without_them)
{
	begin("text");
	add(sample_of(DP_COMPLETE));
	finish();
	cr_assert_null(strstr(text, "By label"));
}

/* Of each key, a few labels and the number of others; no more keys than can be read. */
Test(labels, are_not_endless_in_text)
{
	struct sample sample = sample_of(DP_COMPLETE);

	begin("text");
	for (int i = 0; i < 40; i++) {
		char key[16];
		struct label many[] = { { .key = "attempt", .number = i, .unit = "" },
					{ .key = key, .text = "x" } };

		snprintf(key, sizeof(key), "key%02d", i);
		set = labels_of(many, 2, false);
		sample.labels = set;
		add(sample);
		label_set_free(set);
	}
	set = NULL;
	finish();
	expect_text("            2.5 %  attempt=0\n");
	expect_text("            2.5 %  attempt=12\n         ... and 35 more\n");
	cr_assert_null(strstr(text, "attempt=13"));
	expect_text("key06=x");
	cr_assert_null(strstr(text, "key07=x"), "of so many keys");
}

/* Beyond some number of labels, as with one per request, memory does not grow. */
Test(labels, are_counted_up_to_a_bound)
{
	struct report_context context = { .events = EVENT_BIT(DP_EVENT_CPU) };
	struct label_counts counts = { 0 };
	struct sample sample = sample_of(DP_COMPLETE);
	char line[64];

	for (int i = 0; i <= LABEL_COUNTS_MAX; i++) {
		struct label label = { .key = "request", .number = i, .unit = "" };

		set = labels_of(&label, 1, false);
		sample.labels = set;
		sample.weight = i == LABEL_COUNTS_MAX ? 10 : i == 7 ? 2 : 1;
		cr_assert_eq(label_counts_add(&counts, &context, &sample), 0);
		label_set_free(set);
	}
	set = NULL;
	label_counts_describe(&counts, 10, line, sizeof(line));
	cr_assert_eq(strncmp(line, "request=7 20.0 %, request=0 10.0 %, ", 36), 0, "%s", line);
	label_counts_done(&counts);
}

Test(labels, are_on_a_line_of_top)
{
	struct report_context context = { .target = "prog",
					  .event = "cpu-clock",
					  .events = EVENT_BIT(DP_EVENT_CPU),
					  .names = program.names = some_names() };
	struct sample sample = sample_of(DP_COMPLETE);

	cr_assert_eq(report_new(&report_top, &context, open_memstream(&text, &text_size), &report),
		     0);
	set = labels_of(labels, 3, true);
	sample.labels = set;
	add(sample);
	sample.labels = NULL;
	sample.weight = 3;
	add(sample);
	finish();
	expect_text("\nlabels: phase=warm;up 25.0 %, request_size=4096 bytes 25.0 %\n");
}

/* With --by, of each function: the value of most of the time in it. */
Test(labels, are_a_column_of_top)
{
	static struct group group;
	const char *const routes[] = { "/a", "/long\x1b[31m/route/of/a/request", "/a" };
	struct report_context context = { .target = "prog",
					  .event = "cpu-clock",
					  .events = EVENT_BIT(DP_EVENT_CPU),
					  .by = &group,
					  .names = program.names = some_names() };
	struct sample sample = sample_of(DP_COMPLETE);

	cr_assert_eq(group_parse("label:route", &group), 0);
	cr_assert_eq(report_new(&report_top, &context, open_memstream(&text, &text_size), &report),
		     0);
	for (size_t i = 0; i < 4; i++) {
		const struct label route = { .key = "route", .text = i < 3 ? routes[i] : "" };

		set = label_set_free(set);
		set = labels_of(&route, 1, false);
		sample.labels = i < 3 ? set : NULL;
		sample.user = i == 1 ? frames + 2 : frames;
		sample.n_user = i == 1 ? 1 : 3;
		sample.weight = i == 1 ? 4 : 1;
		add(sample);
	}
	finish();
	expect_text("  function                                           route                "
		    "binary\n");
	expect_text("%  [prog]                                              67 % /a             "
		    "prog\n");
	expect_text("%  [unknown]                                           57 % /l...a/request "
		    "?\n");
}

Test(labels, are_in_the_head_of_a_picture)
{
	write_labelled("svg");
	expect_text(">phase=warm;up 50.0 %, request_size=4096 bytes 50.0 %</text>");
	cr_assert_null(strstr(text, "[phase=warm;up]"), "but not among the functions");
}

Test(labels, tell_stacks_apart_where_asked)
{
	static const char *const formats[] = { "svg", "speedscope", "firefox", "perf-script" };

	for (size_t i = 0; i < 4; i++) {
		write_grouped(formats[i], "label:request_size");
		expect_text("[request_size=4096 bytes]");
		cr_assert_null(strstr(text, "warm"), "%s", formats[i]);
		label_set_free(set);
		free(text);
		write_grouped(formats[i], "cpu");
		expect_text("[cpu=3]");
		cr_assert_null(strstr(text, "request_size"), "%s", formats[i]);
		if (i < 3) {
			label_set_free(set);
			free(text);
		}
	}
}

Test(labels, tell_folded_stacks_apart_where_asked)
{
	write_grouped("folded", "label:try");
	expect_text("my_prog;[try=-2];0x7777;");
	expect_text("my_prog;0x7777;"); /* which has none */
	cr_assert_null(strstr(text, "warm"));
}

Test(labels, of_a_group_have_their_shares_in_text)
{
	write_grouped("text", "cpu");
	expect_text("\nBy label\n           75.0 %  cpu=3\n           25.0 %  cpu=");
	cr_assert_null(strstr(text, "warm"));
}

/* Formats for programs have all labels: their readers choose. */
Test(labels, are_all_there_for_programs)
{
	write_grouped("jsonl", "cpu");
	expect_lines(text);
}

Test(labels, that_stacks_can_be_told_apart_by)
{
	_cleanup_free_ char *list = NULL;
	const struct own_label *own;
	struct group group;
	size_t size;
	FILE *to = open_memstream(&list, &size);

	group_list(to);
	fclose(to);
	for (size_t i = 0; (own = own_label(i)); i++) {
		cr_assert(strstr(list, own->key));
		cr_assert(group_parse(own->key, &group) == 0 && group.own == own);
	}
	cr_assert(group_parse("label:cpu", &group) == 0 && !group.own);
	cr_assert_str_eq(group.key, "cpu");
	cr_assert_eq(group_parse("label:", &group), -EINVAL);
	cr_assert_eq(group_parse("phase", &group), -EINVAL);
	set = NULL;
	text = NULL;
}

static void expect_marks(void)
{
	expect_text("[phase=warm;up]");
	expect_text("[request_size=4096 bytes]");
	expect_text("[try=-2]");
}

Test(labels, are_functions_for_speedscope)
{
	write_labelled("speedscope");
	expect_marks();
	/* After the process, then after its thread, with and without the thread's name. */
	expect_text("\"samples\":[[0,1,2,3,4,5,6],[0,4,5,6]]");
	expect_text("\"samples\":[[1,2,3,4,5,6],[4,5,6]]");
}

Test(labels, are_functions_for_firefox)
{
	write_labelled("firefox");
	expect_marks();
}

Test(labels, are_functions_for_perf)
{
	const char *truncated;

	write_labelled("perf-script");
	expect_marks();
	truncated = strstr(text, "[try=-2]");
	cr_assert(strstr(truncated, "[request_size=4096 bytes]") <
		  strstr(truncated, "[phase=warm;up]"));
}

/* A profile has the strings unchanged. */
Test(labels, are_in_pprof)
{
	z_stream z = { .next_in = (Bytef *)text };
	char plain[1 << 16];

	write_labelled("pprof");
	z.next_in = (Bytef *)text;
	z.avail_in = (uInt)text_size;
	z.next_out = (Bytef *)plain;
	z.avail_out = sizeof(plain);
	cr_assert_eq(inflateInit2(&z, 15 + 16), Z_OK);
	cr_assert_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	for (size_t i = 0; i < 3; i++)
		cr_assert(memmem(plain, z.total_out, labels[i].key, strlen(labels[i].key)));
	cr_assert(memmem(plain, z.total_out, "warm;up", strlen("warm;up")));
	cr_assert(memmem(plain, z.total_out, "bytes", strlen("bytes")));
	inflateEnd(&z);
}

static int report_sample(void *arg, const struct sample *sample, const struct totals *totals_then)
{
	return report_add(arg, sample, totals_then);
}

/* The report in jsonl of the recording that was written. */
static void read_recording(void)
{
	struct recording_options options = { .names = some_names() };
	struct recording_reader *reader;
	char why[RECORDING_WHY_SIZE], *recording;
	size_t size;
	FILE *from;

	recording = text;
	size = text_size;
	from = fmemopen(recording, size, "r");
	cr_assert_eq(recording_reader_new(from, &options, &reader, why), 0);
	begin("jsonl");
	cr_assert_eq(recording_reader_run(reader, report_sample, report), 0);
	cr_assert_null(recording_reader_fault(reader));
	finish();
	recording_reader_free(reader);
	fclose(from);
	free(recording);
}

Test(labels, are_in_recordings)
{
	write_labelled("recording");
	read_recording();
	expect_lines(text);
}

static void write_decimals(const char *format)
{
	static const struct label decimals[] = {
		{ .key = "a", .text = "0.25", .is_decimal = true },
		{ .key = "b", .text = "-1e+20", .is_decimal = true },
		{ .key = "c", .text = "0.25" },
		{ .key = "d", .text = "inf", .is_decimal = true },
	};
	struct sample sample = sample_of(DP_COMPLETE);

	label_set_free(set);
	free(text);
	totals = (struct totals){ 0 };
	set = labels_of(decimals, 4, false);
	sample.labels = set;
	begin(format);
	add(sample);
	finish();
}

static void expect_decimals(void)
{
	json_t *json = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
	const json_t *sample = json_array_get(json_object_get(json, "stacks"), 0) ?: json;
	const json_t *has = json_object_get(sample, "labels");

	cr_assert_eq(json_object_size(has), 4, "%s", text);
	cr_assert_eq(json_real_value(json_object_get(has, "a")), 0.25);
	cr_assert_eq(json_real_value(json_object_get(has, "b")), -1e20);
	cr_assert_str_eq(json_string_value(json_object_get(has, "c")), "0.25");
	cr_assert_str_eq(json_string_value(json_object_get(has, "d")), "inf");
	json_decref(json);
}

Test(labels, that_are_decimals_are_numbers_in_json)
{
	write_decimals("jsonl");
	expect_decimals();
	write_decimals("json");
	expect_decimals();
	write_decimals("recording");
	read_recording();
	expect_decimals();
	write_decimals("folded");
	expect_text("[a=0.25];[b=-1e+20];[c=0.25];[d=inf];");
}

/* Labels that every sample has: one row each, and every format has them. */
Test(labels, of_each_sample_are_in_one_table)
{
	struct sample sample = block_of(DP_STATE_DISK_SLEEP, 5);
	const struct own_label *own;
	struct label label;
	bool is_usual;
	json_t *json;
	size_t n = 0;

	begin("jsonl");
	add(sample);
	finish();
	json = json_loads(text, 0, NULL);
	for (; (own = own_label(n)); n++) {
		const json_t *said = json_object_get(json, own->key);

		cr_assert(own_label_get(own, &sample, &label) && own_label_has_key(own->key));
		if (label.text)
			cr_assert_str_eq(json_string_value(said), label.text);
		else
			cr_assert_eq(json_integer_value(said), label.number);
		is_usual = strcmp(own->key, "outcome") == 0 || strcmp(own->key, "language") == 0;
		cr_assert_eq(own_label_is_usual(own, &label), is_usual);
	}
	cr_assert_eq(n, 8);
	cr_assert(!own_label_has_key("phase"));
	/* A running thread has no state. */
	sample = sample_of(DP_NO_RULE);
	for (size_t i = 0; (own = own_label(i)); i++) {
		cr_assert_eq(own_label_get(own, &sample, &label), strcmp(own->key, "state") != 0);
		is_usual = strcmp(own->key, "language") == 0 && sample.n_kernel == 0;
		cr_assert_eq(own_label_is_usual(own, &label), is_usual);
	}
	json_decref(json);
}

static void write_span(const struct group *by)
{
	static const struct label span[] = {
		{ .key = LABEL_TRACE_ID, .text = "0102" },
		{ .key = LABEL_SPAN_ID, .text = "0a0b" },
		{ .key = "route", .text = "/login" },
	};
	struct sample sample = sample_of(DP_COMPLETE);

	set = labels_of(span, 3, false);
	sample.labels = set;
	begin_with("folded", &(struct report_context){ .target = "prog (PID 42)",
						       .event = "cpu-clock",
						       .hz = 99,
						       .events = EVENT_BIT(DP_EVENT_CPU),
						       .by = by });
	add(sample);
	finish();
}

/* With them, no two stacks would be equal. */
Test(labels, of_spans_are_no_functions)
{
	write_span(NULL);
	expect_text(";[route=/login];");
	cr_assert_null(strstr(text, "_id="));
}

Test(labels, of_spans_are_functions_if_asked_for)
{
	struct group by;

	cr_assert_eq(group_parse("label:span_id", &by), 0);
	write_span(&by);
	expect_text(";[span_id=0a0b];");
}
