// SPDX-License-Identifier: Apache-2.0
/* Several events in one report: each format tells them apart. */
#include <criterion/criterion.h>
#include <jansson.h>

#include "formats/tests/samples.h"
#include "report/group.h"
#include "report/tests/labels.h"
#include "report/value.h"

static const struct report_event events[] = { { "page-faults", "page_faults" },
					      { "r1c2", "r1c2" } };
static const struct report_context context = { .target = "prog (PID 42)",
					       .event = "page-faults,r1c2",
					       .events = EVENT_BIT(DP_EVENT_CPU),
					       .several = events,
					       .n_several = 2 };

/* Adds samples of one event, `weight` each. */
static void add_event(const char *event, uint64_t weight, size_t n_user)
{
	const struct label labels[] = { { .key = REPORT_EVENT, .text = event },
					{ .key = "phase", .text = event } };
	struct label_set *set = labels_of(labels, 2, false);
	struct sample sample = sample_of(DP_COMPLETE);

	sample.labels = set;
	sample.weight = weight;
	sample.n_user = n_user;
	add(sample);
	label_set_free(set);
}

/* Three page faults in two stacks, and a counter's thousand events. */
static void write_all(const char *format, const struct report_context *of)
{
	begin_with(format, of);
	add_event("page-faults", 1, 3);
	add_event("page-faults", 1, 3);
	add_event("r1c2", 1000, 3);
	add_event("page-faults", 1, 2);
	finish();
}

static void expect_text(const char *expected)
{
	cr_expect(strstr(text, expected), "no %s in %s", expected, text);
}

Test(several, are_values_of_their_own)
{
	struct value values[VALUES_MAX];
	struct sample sample = sample_of(DP_COMPLETE);
	const struct label label = { .key = REPORT_EVENT, .text = "r1c2" };
	struct label_set *set = labels_of(&label, 1, false);

	sample.weight = 7;
	sample.labels = set;
	cr_assert_eq(values_of(&context, values), 2);
	cr_assert_str_eq(values[0].name, "page_faults");
	cr_assert_str_eq(values[1].name, "r1c2");
	cr_assert_str_eq(values[1].unit, "count");
	cr_assert_eq(value_of_sample(&values[0], &sample), 0);
	cr_assert_eq(value_of_sample(&values[1], &sample), 7);
	cr_assert_eq(value_event_number(&context, &sample), 1);
	cr_assert_str_eq(value_event_name(&context, &sample), "r1c2");
	label_set_free(set);
}

Test(several, are_columns_in_json)
{
	static const int expected[][2] = { { 2, 0 }, { 0, 1000 }, { 1, 0 } };
	json_t *json, *types, *stacks;

	write_all("json", &context);
	json = json_loads(text, 0, NULL);
	types = json_object_get(json_object_get(json, "metadata"), "values");
	stacks = json_object_get(json, "stacks");
	cr_assert_eq(json_array_size(types), 2);
	cr_assert_str_eq(json_string_value(json_object_get(json_array_get(types, 1), "name")),
			 "r1c2");
	cr_assert_eq(json_array_size(stacks), 3);
	for (size_t i = 0; i < 3; i++) {
		const json_t *values = json_object_get(json_array_get(stacks, i), "values");

		for (size_t j = 0; j < 2; j++)
			cr_expect_eq(json_integer_value(json_array_get(values, j)), expected[i][j]);
	}
	json_decref(json);
	free(text);
}

Test(several, are_named_by_each_sample)
{
	write_all("jsonl", &context);
	expect_text("\"event\":\"page-faults\",");
	expect_text("\"event\":\"r1c2\",");
	free(text);
	write_all("perf-script", &context);
	expect_text(" 1 page-faults: \n");
	expect_text(" 1000 r1c2: \n");
	cr_expect_null(strstr(text, "page-faults,r1c2"), "%s", text);
	free(text);
}

Test(several, are_separate_frames)
{
	struct report_context by_cpu = context;
	struct group group;

	totals.lost = 5;
	write_all("folded", &context);
	cr_expect_null(strstr(text, "[lost samples]"), "which event's?");
	expect_text(", 5 lost, ");
	expect_text("my_prog;[-e=page-faults];[phase=page-faults];0x7777;");
	expect_text("my_prog;[-e=r1c2];[phase=r1c2];0x7777;");
	free(text);
	/* Also if stacks are grouped by something else. */
	cr_assert_eq(group_parse("cpu", &group), 0);
	by_cpu.by = &group;
	write_all("folded", &by_cpu);
	expect_text("my_prog;[-e=page-faults];[cpu=1];0x7777;");
	free(text);
	/* And only once, if by that. */
	cr_assert_eq(group_parse("label:-e", &group), 0);
	write_all("folded", &by_cpu);
	expect_text("my_prog;[-e=page-faults];0x7777;");
	free(text);
}

/* Shares are those of the event's own total; labels, too. */
Test(several, are_sections_of_text)
{
	const char *faults, *counter;

	write_all("text", &context);
	expect_text("prog (PID 42), page-faults,r1c2, ");
	faults = strstr(text, "\npage-faults: 3\n");
	counter = strstr(text, "\nr1c2: 1000\n");
	cr_assert(faults && faults < counter, "%s", text);
	expect_text("\nHottest stack, 2 of 3 (66.7 %)");
	expect_text("\nHottest stack, 1000 of 1000 (100.0 %)");
	expect_text("\nBy label\n          100.0 %  phase=page-faults\n\n");
	expect_text("\nBy label\n          100.0 %  phase=r1c2\n\n");
	cr_expect_null(strstr(text, "-e="));
	free(text);
}

Test(several, are_plain_and_not_added_up_in_text)
{
	static const struct report_event hostile[] = { { "a\x1b[31mb", "a" }, { "r1c2", "r1c2" } };
	struct report_context from_file = context;

	from_file.several = hostile;
	totals.events = 1003;
	write_all("text", &from_file);
	cr_expect_null(strchr(text, '\x1b'), "%s", text);
	cr_expect_null(strstr(text, "Scaled:"), "%s", text);
	expect_text("\na");
	free(text);
}

/* A program's own label `event` is shown, and none of ours. */
Test(several, leave_a_program_its_labels)
{
	const struct label labels[] = { { .key = REPORT_EVENT, .text = "r1c2" },
					{ .key = "event", .text = "page-faults" } };
	struct label_set *set = labels_of(labels, 2, false);
	struct sample sample = sample_of(DP_COMPLETE);

	sample.labels = set;
	sample.weight = 5;
	begin_with("text", &context);
	add(sample);
	label_set_free(set);
	finish();
	expect_text("\npage-faults: 0\n\nr1c2: 5\n");
	expect_text("100.0 %  event=page-faults\n");
	free(text);
}

Test(several, have_a_section_even_without_samples)
{
	begin_with("text", &context);
	add_event("r1c2", 5, 3);
	finish();
	expect_text("\npage-faults: 0\n\nr1c2: 5\n");
	free(text);
}

Test(several, are_threads_of_firefox)
{
	json_t *json, *threads;

	write_all("firefox", &context);
	json = json_loads(text, 0, NULL);
	threads = json_object_get(json, "threads");
	cr_assert_eq(json_array_size(threads), 2);
	for (size_t i = 0; i < 2; i++) {
		const json_t *thread = json_array_get(threads, i);

		cr_expect(
			strstr(json_string_value(json_object_get(thread, "name")), events[i].name));
		cr_expect_eq(json_integer_value(
				     json_object_get(json_object_get(thread, "samples"), "length")),
			     i ? 1 : 3);
	}
	json_decref(json);
	free(text);
}

Test(several, are_boxes_of_svg)
{
	write_all("svg", &context);
	expect_text("[-e=page-faults]");
	expect_text("[-e=r1c2]");
	free(text);
}

/* A viewer picks one of them. */
Test(several, are_profiles_of_speedscope)
{
	static const int ends[] = { 3, 1000, 3, 1000 };
	static const size_t n_stacks[] = { 2, 1, 2, 1 };
	json_t *json, *profiles;

	totals.lost = 5;
	write_all("speedscope", &context);
	json = json_loads(text, 0, NULL);
	profiles = json_object_get(json, "profiles");
	cr_assert_eq(json_array_size(profiles), 4, "the last two are the thread's");
	for (size_t i = 0; i < 4; i++) {
		const json_t *profile = json_array_get(profiles, i);
		const char *name = json_string_value(json_object_get(profile, "name"));

		cr_expect_eq(json_integer_value(json_object_get(profile, "endValue")), ends[i]);
		cr_expect_eq(json_array_size(json_object_get(profile, "samples")), n_stacks[i]);
		cr_expect_eq(json_array_size(json_object_get(profile, "weights")), n_stacks[i]);
		if (i < 2)
			cr_expect_eq(strncmp(name, events[i].name, strlen(events[i].name)), 0);
		else
			cr_expect(strstr(name, events[i - 2].name), "%s", name);
	}
	json_decref(json);
	free(text);
}
