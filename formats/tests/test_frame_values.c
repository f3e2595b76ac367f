// SPDX-License-Identifier: Apache-2.0
/* Values beside the functions whose calls have them, in graphs: stacks are the same whatever the values. */
#include <jansson.h>

#include "formats/speedscope.h"
#include "formats/tests/samples.h"
#include "formats/timeline.h"
#include "limits/limits.h"
#include "report/frame_values.h"
#include "report/group.h"
#include "report/tests/labels.h"

static struct frame probed[3];
static struct label_set *set;

static void start(void)
{
	memcpy(probed, frames, sizeof(probed));
	probed[1].probe = 2;
}

static void end(void)
{
	label_set_free(set);
	free(text);
}

TestSuite(frame_values, .init = start, .fini = end);

/* A sample with a value of the call in the second frame, and another label; NULL: it is not known. */
static struct sample with_route(const char *route)
{
	const struct label labels[] = { { .key = "route", .text = route, .probe = 2 },
					{ .key = "user", .text = "me" } };
	struct sample sample = sample_of(DP_COMPLETE);

	label_set_free(set);
	set = labels_of(labels, 2, false);
	sample.user = probed;
	sample.labels = set;
	return sample;
}

Test(frame_values, are_in_the_titles_of_pictures)
{
	begin("svg");
	add(with_route("/a<b>"));
	add(with_route("/c"));
	add(with_route("/c"));
	add(with_route("/c"));
	finish();
	cr_assert(strstr(text, "<title>[prog+0x1120] (/usr/bin/prog): 40.4 ms, 100.00 %; route=/c "
			       "75.0 %, route=/a&lt;b&gt; 25.0 %</title>"),
		  "%s", text);
	cr_assert(strstr(text, "<title>[prog+0x1010] (/usr/bin/prog): 40.4 ms, 100.00 %</title>"),
		  "%s", text);
}

/* As html writes it: the names of functions. */
static json_t *write_timeline(const struct group *by)
{
	const struct report_context context = { .target = "prog",
						.event = "cpu-clock",
						.hz = 100,
						.events = EVENT_BIT(DP_EVENT_CPU),
						.by = by };
	struct timeline timeline;
	struct totals none = { 0 };
	char *written = NULL;
	size_t size;
	FILE *to = open_memstream(&written, &size);
	json_t *json;

	begin_with("speedscope", &context);
	cr_assert_eq(timeline_init(&timeline), 0);
	timeline.has_values = true;
	for (size_t i = 0; i < 4; i++) {
		struct sample sample = with_route(i ? "/c" : "/\"a\"");

		cr_assert_eq(timeline_add(&timeline, &context, &sample), 0);
	}
	cr_assert_eq(speedscope_write(report, &timeline, &none, to), 0);
	fclose(to);
	timeline_done(&timeline);
	fclose(report->to);
	report_free(report);
	json = json_loads(written, JSON_REJECT_DUPLICATES, NULL);
	free(written);
	return json;
}

static bool has_function(const json_t *json, const char *name)
{
	const json_t *functions = json_object_get(json_object_get(json, "shared"), "frames");
	const json_t *f;
	size_t i;

	json_array_foreach(functions, i,
			   f) if (strcmp(json_string_value(json_object_get(f, "name")), name) ==
				  0) return true;
	return false;
}

/* Of what is no call's, there is a frame. */
Test(frame_values, are_in_the_names_of_functions_in_html)
{
	json_t *json = write_timeline(NULL);

	cr_assert(has_function(json, "[prog+0x1120]  route=/c 75.0 %, route=/\"a\" 25.0 %"));
	cr_assert(has_function(json, "[prog+0x1010]"));
	cr_assert(has_function(json, "[user=me]"));
	cr_assert(!has_function(json, "[route=/c]"));
	json_decref(json);
}

/* Then they are frames: stacks differ. */
Test(frame_values, are_told_apart_where_asked)
{
	static struct group group;
	json_t *json;

	cr_assert_eq(group_parse("label:route", &group), 0);
	json = write_timeline(&group);
	cr_assert(has_function(json, "[prog+0x1120]"));
	cr_assert(has_function(json, "[route=/c]") && has_function(json, "[route=/\"a\"]"));
	json_decref(json);
}

/* Where the walk has not got to the call, the value is no function's. */
Test(frame_values, without_a_frame_remain_labels)
{
	struct sample sample = with_route("<unknown>");
	struct label_set *left;

	sample.user = frames;
	cr_assert_eq(frame_values_take_away(&sample, &left), 0);
	cr_assert(label_set_has(left, "route", "<unknown>") && label_set_has(left, "user", "me"));
	label_set_free(left);
	sample.user = probed;
	cr_assert_eq(frame_values_take_away(&sample, &left), 0);
	cr_assert(!label_set_has(left, "route", "<unknown>") && label_set_has(left, "user", "me"));
	label_set_free(left);
}

/* Shares are of all. */
Test(frame_values, are_counted_up_to_a_limit)
{
	const struct stack stack = { .number = 7 };
	const struct value value = { .events = EVENT_BIT(DP_EVENT_CPU), .scale = 1 };
	struct frame_values values = { 0 };
	struct value_texts texts = { 0 };
	char buffer[VALUE_TEXTS_SIZE], route[16];

	for (size_t i = 0; i < LABEL_COUNTS_MAX + 100; i++) {
		struct sample sample;

		snprintf(route, sizeof(route), "/%zu", i % (LABEL_COUNTS_MAX + 50));
		sample = with_route(route);
		cr_assert_eq(frame_values_add(&values, &sample, 7), 0);
	}
	cr_assert_eq(values.n, LABEL_COUNTS_MAX);
	cr_assert_eq(frame_values_sum(&values, &stack, 2, &value, &texts), 0);
	cr_assert_eq(texts.all, LABEL_COUNTS_MAX + 100);
	value_texts_describe(&texts, buffer);
	cr_assert_str_eq(
		buffer,
		"route=/0 0.0 %, route=/1 0.0 %, route=/10 0.0 %, route=/11 0.0 %, and 9996 "
		"more");
	value_texts_done(&texts);
	cr_assert_eq(frame_values_sum(&values, &stack, 1, &value, &texts), 0);
	value_texts_describe(&texts, buffer);
	cr_assert_str_eq(buffer, "");
	frame_values_done(&values);
}

Test(frame_values, are_cut_if_they_are_long)
{
	const struct stack stack = { 0 };
	const struct value value = { .events = EVENT_BIT(DP_EVENT_CPU), .scale = 1 };
	struct frame_values values = { 0 };
	struct value_texts texts = { 0 };
	char buffer[VALUE_TEXTS_SIZE], route[1000] = "";
	struct sample sample;

	memset(route, 'x', sizeof(route) - 1);
	sample = with_route(route);
	cr_assert_eq(frame_values_add(&values, &sample, 0), 0);
	cr_assert_eq(frame_values_sum(&values, &stack, 2, &value, &texts), 0);
	value_texts_describe(&texts, buffer);
	cr_assert_eq(strlen(buffer), 120);
	cr_assert_str_eq(buffer + 110, "xxxxxxx...");
	value_texts_done(&texts);
	frame_values_done(&values);
}
