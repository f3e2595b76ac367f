// SPDX-License-Identifier: Apache-2.0
/* A number that each event has beside its count, as --value says. */
#include <criterion/criterion.h>

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
