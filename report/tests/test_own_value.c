// SPDX-License-Identifier: Apache-2.0
/* A number that each event has beside its count, as --value says. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/array.h"
#include "report/recording_context.h"
#include "report/tests/samples.h"
#include "report/value.h"

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
