// SPDX-License-Identifier: Apache-2.0
/* A number that each event has beside its count, as --value says. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/array.h"
#include "recording/recording.h"
#include "recording/recording_context.h"
#include "recording/recording_reader.h"
#include "report/tests/labels.h"
#include "report/value.h"
#include "formats/tests/samples.h"

static const struct report_context in_bytes = { .target = "prog (PID 42)",
						.event = "uprobe:libc.so.6:malloc",
						.events = EVENT_BIT(DP_EVENT_UPROBE),
						.value = "size",
						.value_unit = "bytes" };

static struct sample call_of(uint64_t weight, uint64_t size)
{
	struct sample sample = sample_of(DP_COMPLETE);

	sample.event = DP_EVENT_UPROBE;
	sample.weight = weight;
	sample.value_ns = size;
	return sample;
}

static void make(const char *format, const struct report_context *context)
{
	totals = (struct totals){ 0 };
	free(text); /* of a format before */
	text = NULL;
	begin_with(format, context);
	add(call_of(1, 4096));
	add(call_of(2, 50));
	finish();
}

static void expect(const char *format, const char *wanted)
{
	make(format, &in_bytes);
	cr_assert(strstr(text, wanted), "%s: %s", format, text);
}

Test(own_value, is_the_last_one)
{
	const struct sample call = call_of(2, 50);
	struct sample crash = call;
	struct value values[VALUES_MAX];

	crash.event = DP_EVENT_CRASH;
	totals = (struct totals){ .samples = 2, .events = 4, .time_ns = 300, .lost = 3 };
	cr_assert_eq(values_of(&in_bytes, values), 2);
	cr_assert_str_eq(values[0].name, "events");
	cr_assert_str_eq(values[1].name, "size");
	cr_assert_str_eq(values[1].unit, "bytes");
	cr_assert_eq(value_of_sample(&values[0], &call), 2);
	cr_assert_eq(value_of_sample(&values[1], &call), 100);
	cr_assert_eq(value_of_sample(&values[1], &crash), 0);
	cr_assert_eq(value_of_totals(&values[1], &totals), 300);
	cr_assert_eq(value_of_lost(&values[1], &totals), 450, "150 of each sample");
	cr_assert_str_eq(value_measured(&in_bytes).name, "size");
}

/* Less than one of each sample. */
Test(own_value, of_lost_ones_may_be_less_than_one_of_each)
{
	const struct value value = value_main(&in_bytes);

	totals = (struct totals){ .samples = 10, .events = 10, .time_ns = 9, .lost = 1000 };
	cr_assert_eq(value_of_lost(&value, &totals), 900);
	totals.time_ns = INT64_MAX;
	cr_assert_eq(value_of_lost(&value, &totals), INT64_MAX);
	totals.samples = 0;
	cr_assert_eq(value_of_lost(&value, &totals), 0);
}

static int expect_largest(const struct stack *stack, void *arg)
{
	cr_assert_eq(stack->time_ns, INT64_MAX);
	++*(size_t *)arg;
	return 0;
}

/* One absurd number must not make the others' sum begin again from zero. */
Test(own_value, adds_up_to_the_largest_number)
{
	const struct value value = value_main(&in_bytes);
	const struct sample calls[] = { call_of(1, 5), call_of(1, INT64_MAX), call_of(4, INT64_MAX),
					call_of(3, 5) };
	struct totals twice;
	struct profile *profile;
	size_t n = 0;

	totals = (struct totals){ 0 };
	cr_assert_eq(profile_new(PROFILE_UNNAMED, &profile), 0);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		totals_count(&totals, &calls[i]);
		cr_assert_eq(profile_add(profile, &calls[i]), 0);
	}
	cr_assert_eq(totals.time_ns, INT64_MAX);
	twice = totals_sum(&totals, &totals);
	cr_assert(twice.time_ns == INT64_MAX && twice.events == 18);
	cr_assert_eq(value_of_sample(&value, &calls[2]), INT64_MAX);
	cr_assert_eq(profile_for_each(profile, expect_largest, &n), 0);
	cr_assert_eq(n, 1);
	profile_free(profile);
}

Test(own_value, is_named_by_its_unit)
{
	struct report_context context = in_bytes;
	struct value value = value_main(&context);

	cr_assert_str_eq(value_noun(&value), "bytes");
	context.value_unit = "count";
	value = value_main(&context);
	cr_assert_str_eq(value_noun(&value), "size");
	context.value = NULL;
	value = value_main(&context);
	cr_assert_str_eq(value_noun(&value), "events");
}

Test(own_value, is_null_where_it_is_a_label_instead)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	struct sample call = call_of(1, 0);

	cr_assert_eq(label_list_add(&list, &(struct label){ .key = "size", .text = "<unread>" }),
		     0);
	cr_assert_eq(label_set_new(&list, &labels), 0);
	begin_with("jsonl", &in_bytes);
	add(call);
	call.labels = labels;
	add(call);
	call.value_ns = 3;
	add(call);
	finish();
	cr_assert(strstr(text, "\"values\":{\"size\":0}"), "%s", text);
	cr_assert(strstr(text, "\"values\":{\"size\":null}"), "%s", text);
	cr_assert(strstr(text, "\"values\":{\"size\":3}"), "a label of the program's own: %s",
		  text);
}

Test(own_value, is_in_formats_of_several)
{
	expect("jsonl", "\"values\":{\"size\":4096}");
	expect("jsonl", "\"value_ns\":null");
	expect("json",
	       "\"values\":[{\"name\":\"events\",\"unit\":\"count\"},{\"name\":\"size\",\"unit\":\"bytes\"}]");
	expect("json", "\"values\":[3,4196]");
	expect("json", "\"off_cpu\":false");
	expect("text", "\nsize: 4196 bytes in 3 events\n");
}

Test(own_value, is_the_weight_in_formats_of_one)
{
	expect("folded", " 4196\n");
	expect("firefox", "\"weight\":[4096,100],\"weightType\":\"bytes\"");
	expect("speedscope", "\"unit\":\"bytes\"");
	expect("svg", " bytes");
}

Test(own_value, may_be_a_time)
{
	struct report_context context = in_bytes;

	context.value_unit = "nanoseconds";
	make("text", &context);
	cr_assert(strstr(text, "\nsize: 0.004 ms in 3 events\n"), "%s", text);
	make("firefox", &context);
	cr_assert(strstr(text, "\"weight\":[0.004096,0.000100],\"weightType\":\"tracing-ms\""),
		  "%s", text);
	context.value_unit = "count";
	make("firefox", &context);
	cr_assert(strstr(text, "\"weight\":[4096,100],\"weightType\":\"samples\""), "%s", text);
}

static int read_context(const char *key, const char *value)
{
	struct recording_context context = { 0 };
	struct bytes b = { 0 };
	struct view v;
	int err;

	recording_put_text(&b, "target", "prog");
	recording_put_text(&b, "event", "uprobe:f");
	recording_put_text(&b, key, value);
	v = (struct view){ .pos = b.data, .end = b.data + b.size };
	err = recording_context_read(&v, &context);
	recording_context_done(&context);
	bytes_done(&b);
	return err;
}

/* A recording may be a stranger's. */
Test(own_value, has_no_name_and_unit_that_a_terminal_obeys)
{
	struct report_context context = in_bytes;

	for (size_t i = 0; i < 2; i++) {
		const char *key = i ? "value_unit" : "value";

		cr_assert_eq(read_context(key, "größe"), 0);
		cr_assert_eq(read_context(key, "\33[31m"), -EBADMSG);
		cr_assert_eq(read_context(key, "\xff"), -EBADMSG);
	}
	cr_assert_eq(read_context("value", ""), -EBADMSG);
	context.value_unit = "\33[31mbytes";
	make("text", &context);
	cr_assert(strstr(text, "\nsize: 4196 ?[31mbytes in 3 events\n"), "%s", text);
}

Test(own_value, tells_recordings_apart)
{
	struct recording_context a = { .context = in_bytes }, b = a;

	cr_assert(recording_context_is_alike(&a, &b));
	b.context.value_unit = "count";
	cr_assert(!recording_context_is_alike(&a, &b));
	b.context.value_unit = "bytes";
	b.context.value = NULL;
	cr_assert(!recording_context_is_alike(&a, &b));
}

/* Two of three events have a number, of their own kinds. */
static const struct report_event events[] = {
	{ "sys:read", "sys:read", "count", "bytes" },
	{ "sys:open", "sys:open", NULL, NULL },
	{ "sys:exit", "sys:exit", "time", "nanoseconds" },
};
static const struct report_context several = { .target = "prog (PID 42)",
					       .event = "sys:read,sys:open,sys:exit",
					       .events = EVENT_BIT(DP_EVENT_TRACE),
					       .several = events,
					       .n_several = ARRAY_SIZE(events) };

/* instead: the key of a label that the program, or the profiler, has set; or NULL. */
static void add_event(const char *event, uint64_t number, const char *instead)
{
	const struct label labels[] = { { .key = REPORT_EVENT, .text = event },
					{ .key = instead, .text = "<unread>" } };
	struct label_set *set = labels_of(labels, instead ? 2 : 1, false);
	struct sample sample = call_of(1, number);

	sample.event = DP_EVENT_TRACE;
	sample.labels = set;
	add(sample);
	label_set_free(set);
}

static void make_several(const char *format)
{
	totals = (struct totals){ 0 };
	free(text);
	text = NULL;
	begin_with(format, &several);
	add_event("sys:read", 4096, NULL);
	add_event("sys:read", 0, NULL);
	add_event("sys:read", 0, "count");
	add_event("sys:open", 0, NULL);
	add_event("sys:exit", 2000000, NULL);
	finish();
}

static void expect_several(const char *format, const char *wanted)
{
	make_several(format);
	cr_assert(strstr(text, wanted), "%s: %s", format, text);
}

Test(own_value, is_one_of_each_of_several_events)
{
	const struct label label = { .key = REPORT_EVENT, .text = "sys:exit" };
	struct label_set *set = labels_of(&label, 1, false);
	struct sample sample = call_of(2, 50);
	struct value values[VALUES_MAX];

	sample.event = DP_EVENT_TRACE;
	sample.labels = set;
	cr_assert_eq(values_of(&several, values), 5);
	cr_assert(values[3].is_own && values[4].is_own && !values[2].is_own);
	cr_assert_str_eq(values[3].name, "count");
	cr_assert_str_eq(values[4].unit, "nanoseconds");
	cr_expect_eq(value_of_sample(&values[2], &sample), 2);
	cr_expect_eq(value_of_sample(&values[3], &sample), 0);
	cr_expect_eq(value_of_sample(&values[4], &sample), 100);
	cr_expect_str_eq(value_own_name(&several, &sample), "time");
	sample.event = DP_EVENT_CRASH;
	cr_expect_null(value_own_name(&several, &sample));
	label_set_free(set);
}

static const struct report_number more[] = { { "length", "meters" }, { "depth", "count" } };

/* An event with several: the first is the sample's, the others are labels. */
static void make_more(const char *format)
{
	const struct label labels[] = { { .key = "depth", .number = -1, .unit = "" },
					{ .key = "length", .number = 7, .unit = "" } };
	struct label_set *set = labels_of(labels, ARRAY_SIZE(labels), false);
	struct report_context context = in_bytes;
	struct sample sample = call_of(2, 50);

	context.more = more;
	context.n_more = ARRAY_SIZE(more);
	sample.labels = set;
	totals = (struct totals){ 0 };
	free(text);
	text = NULL;
	begin_with(format, &context);
	add(sample);
	add(call_of(1, 4096));
	finish();
	label_set_free(set);
}

Test(own_value, is_one_of_several_of_an_event)
{
	make_more("json");
	cr_expect(strstr(text, "{\"name\":\"length\",\"unit\":\"meters\"},"
			       "{\"name\":\"depth\",\"unit\":\"count\"},"
			       "{\"name\":\"size\",\"unit\":\"bytes\"}]"),
		  "%s", text);
	cr_expect(strstr(text, "\"values\":[2,14,0,100]"), "%s", text);
	cr_expect(strstr(text, "\"values\":[1,0,0,4096]"), "%s", text);
	make_more("jsonl");
	cr_expect(strstr(text, "\"values\":{\"size\":50,\"length\":7,\"depth\":null}"), "%s", text);
	cr_expect(strstr(text, "\"values\":{\"size\":4096,\"length\":null,\"depth\":null}"), "%s",
		  text);
	make_more("text");
	cr_expect(strstr(text,
			 "\nsize: 4196 bytes in 3 events\nlength: 14 meters\ndepth: 0 depth\n"),
		  "%s", text);
	make_more("folded");
	cr_expect(strstr(text, " 100\n") && strstr(text, " 4096\n"), "%s", text);
}

/* What an event has not, or what could not be read, is no zero. */
Test(own_value, is_not_there_where_an_event_has_none)
{
	expect_several("jsonl", "\"values\":{\"count\":4096}");
	cr_expect(strstr(text, "\"values\":{\"count\":0}"));
	cr_expect(strstr(text, "\"values\":{\"count\":null}"));
	cr_expect(strstr(text, "\"values\":{\"time\":2000000}"));
	cr_expect_null(strstr(strstr(text, "\"event\":\"sys:open\""), "\"values\":{\"count\""));
	expect_several("text", "\nsys:read: 3\n");
	cr_expect(strstr(text, "\nsys:open: 1\n"));
	cr_expect(strstr(text, "\nsys:read, count: 4096 bytes in 2 events\n"), "%s", text);
	cr_expect(strstr(text, "\nsys:exit, time: 2.000 ms in 1 events\n"), "%s", text);
	expect_several("json", "{\"name\":\"sys:exit\",\"unit\":\"count\"},"
			       "{\"name\":\"count\",\"unit\":\"bytes\"},"
			       "{\"name\":\"time\",\"unit\":\"nanoseconds\"}]");
	cr_expect(strstr(text, "\"values\":[0,0,1,0,2000000]"), "%s", text);
	expect_several("speedscope", "\"sys:read, count, all threads: ");
}

static int pass(void *arg, const struct sample *sample, const struct totals *now)
{
	return report_add(arg, sample, now);
}

/* Writes what was recorded, which this frees, as another format. */
static void convert(const char *format)
{
	const struct recording_options options = { .names = some_names() };
	char *recorded = text, why[RECORDING_WHY_SIZE];
	FILE *from = fmemopen(recorded, text_size, "r");
	struct recording_reader *reader;

	cr_assert_eq(recording_reader_new(from, &options, &reader, why), 0, "%s", why);
	text = NULL;
	begin_with(format, recording_reader_context(reader));
	cr_assert_eq(recording_reader_run(reader, pass, report), 0);
	totals = *recording_reader_totals(reader);
	finish();
	recording_reader_free(reader);
	fclose(from);
	free(recorded);
}

Test(own_value, is_recorded_with_further_ones)
{
	make_more("recording");
	convert("json");
	cr_expect(strstr(text, "\"values\":[2,14,0,100]"), "%s", text);
}

Test(own_value, is_recorded_for_each_of_several_events)
{
	make_several("recording");
	convert("text");
	cr_expect(strstr(text, "\nsys:read, count: 4096 bytes in 2 events\n"), "%s", text);
	cr_expect(strstr(text, "\nsys:exit, time: 2.000 ms in 1 events\n"), "%s", text);
}

/* Such a reader skips the keys with its name, and does not take the number for anything else. */
Test(own_value, is_left_out_by_readers_that_do_not_know_it)
{
	struct report_context older = in_bytes;

	make("recording", &in_bytes);
	cr_assert_eq(text[RECORDING_MAGIC_SIZE], RECORDING_VERSION);
	older.value = older.value_unit = NULL;
	make("recording", &older);
	convert("jsonl");
	cr_expect(strstr(text, "\"weight\":2"), "%s", text);
	cr_expect_null(strstr(text, "\"values\""));
	make("recording", &older);
	convert("text");
	cr_expect(strstr(text, "3 events"), "%s", text);
	cr_expect_null(strstr(text, "4196"));
	make("recording", &older);
	convert("folded");
	cr_expect(strstr(text, " 3\n"), "%s", text);
}

/* Those that formats add up by themselves, too: of stacks with the same functions, and of all. */
Test(own_value, does_not_wrap_around_in_any_format)
{
	static const char *const wanted[][2] = {
		{ "folded", ";[prog+0x1010] 9223372036854775807\n" },
		{ "text", "9223372036854775807 bytes in 3 events\n" },
		{ "svg", "807 bytes, 100.00 %</title>" },
		{ "speedscope", "\"endValue\":9223372036854775807" },
		{ "firefox",
		  "\"weight\":[9223372036854775807,9223372036854775807,9223372036854775807]" },
	};
	struct sample calls[] = { call_of(1, INT64_MAX), call_of(1, INT64_MAX),
				  call_of(1, INT64_MAX) };

	calls[1].n_user = 2;
	calls[2].state = 1; /* another stack, of the same functions */
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		free(text);
		text = NULL;
		totals = (struct totals){ .time_ns = INT64_MAX, .samples = 3, .events = 3 };
		begin_with(wanted[i][0], &in_bytes);
		for (size_t j = 0; j < ARRAY_SIZE(calls); j++)
			cr_assert_eq(report_add(report, &calls[j], &totals), 0);
		finish();
		cr_expect(strstr(text, wanted[i][1]), "%s: %s", wanted[i][0], text);
		cr_expect_null(strstr(text, "18446744073709551614"), "%s", wanted[i][0]);
		cr_expect_null(strstr(text, "9223372036854775805"), "%s", wanted[i][0]);
	}
}
