// SPDX-License-Identifier: Apache-2.0
/* Memory that is allocated, and what of it is held. */
#include <criterion/criterion.h>

#include "formats/tests/samples.h"
#include "report/value.h"

static const struct report_context context = { .target = "prog (PID 42)",
					       .event = "alloc",
					       .counts = "alloc_objects",
					       .events = EVENT_BIT(DP_EVENT_ALLOC) };

static struct sample memory_of(enum dp_event event, uint64_t weight, uint64_t size)
{
	struct sample sample = sample_of(DP_COMPLETE);

	sample.event = event;
	sample.weight = weight;
	sample.value_ns = size;
	return sample;
}

static void add_counted(struct sample sample)
{
	totals_count(&totals, &sample);
	cr_assert_eq(report_add(report, &sample, &totals), 0);
}

Test(memory, has_four_values)
{
	static const uint64_t expected[2][4] = { { 3, 0, 0, 300 }, { 0, 2, 14, 0 } };
	const struct sample samples[] = { memory_of(DP_EVENT_ALLOC, 3, 100),
					  memory_of(DP_EVENT_HELD, 2, 7) };
	static const char *const names[] = { "alloc_objects", "inuse_objects", "inuse_space",
					     "alloc_space" };
	struct value values[VALUES_MAX];

	totals = (struct totals){ .lost = 2 };
	cr_assert_eq(values_of(&context, values), 4);
	for (size_t i = 0; i < 2; i++)
		totals_count(&totals, &samples[i]);
	for (size_t i = 0; i < 4; i++) {
		cr_assert_str_eq(values[i].name, names[i]);
		for (size_t j = 0; j < 2; j++)
			cr_assert_eq(value_of_sample(&values[i], &samples[j]), expected[j][i]);
		cr_assert_eq(value_of_totals(&values[i], &totals), expected[0][i] + expected[1][i]);
	}
	cr_assert_str_eq(value_measured(&context).name, "alloc_space");
	cr_assert_eq(totals.samples, 1, "what is held is no sample");
	cr_assert_eq(value_of_lost(&values[0], &totals), 6);
	cr_assert_eq(value_of_lost(&values[1], &totals), 0);
	cr_assert_eq(value_of_lost(&values[3], &totals), 600);
	cr_assert_str_eq(value_event_name(&context, &samples[0]), "alloc");
	cr_assert_str_eq(value_event_name(&context, &samples[1]), "held");
}

Test(memory, has_two_sections_in_text)
{
	begin_with("text", &context);
	add_counted(memory_of(DP_EVENT_ALLOC, 3, 100));
	add_counted(memory_of(DP_EVENT_HELD, 2, 7));
	finish();
	cr_assert(strstr(text,
			 "\nAllocated: 300 bytes in 3 pieces, held at the end: 14 bytes in 2\n"),
		  "%s", text);
	cr_assert(strstr(text, "\ninuse_space: 14 bytes\n"), "%s", text);
	cr_assert(strstr(text, "\nalloc_space: 300 bytes\n"), "%s", text);
}

Test(memory, has_bytes_in_json_lines)
{
	begin_with("jsonl", &context);
	add_counted(memory_of(DP_EVENT_ALLOC, 3, 100));
	finish();
	cr_assert(strstr(text, "\"bytes\":100"), "%s", text);
	cr_assert(strstr(text, "\"value_ns\":null"), "%s", text);
}
