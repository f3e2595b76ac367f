// SPDX-License-Identifier: Apache-2.0
/* Steps of times, and the rows of a histogram. */
#include "report/span_times.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "formats/report_format.h"
#include "recording/recording_reader.h"
#include "report/report.h"
#include "symbols/tests/some_names.h"

#define LAST_STEP 251 /* of the longest time */

/* By the definition: four steps of equal width for each power of two. */
static uint64_t start_by_definition(uint32_t step)
{
	return step < 4 ? step :
			  (uint64_t)ldexpl(1 + (long double)(step % 4) / 4, (int)step / 4 + 1);
}

Test(span_times, have_steps_of_a_quarter)
{
	for (uint32_t step = 0; step <= LAST_STEP; step++) {
		uint64_t start = dp_span_step_start(step);

		cr_assert_eq(start, start_by_definition(step), "%u: %lu", step,
			     (unsigned long)start);
		cr_assert_eq(dp_span_step(start), step);
		if (step > 0)
			cr_assert_eq(dp_span_step(start - 1), step - 1);
	}
	cr_assert_eq(dp_span_step(UINT64_MAX), LAST_STEP);
	cr_assert_lt(LAST_STEP, DP_SPAN_STEPS);
}

Test(span_times, are_rows_with_calls)
{
	struct span_times times = { 0 };
	struct span_row row;
	uint32_t step = 0;

	cr_assert(!span_times_next(&times, &step, &row));
	times.n_returned[0] = 1;
	times.n_returned[dp_span_step(5000)] = 2;
	times.n_left[dp_span_step(5000)] = 3;
	times.n_left[LAST_STEP] = 4;
	step = 0;
	cr_assert(span_times_next(&times, &step, &row));
	cr_assert(row.start_ns == 0 && row.end_ns == 1 && row.n_returned == 1 && row.n_left == 0);
	cr_assert(span_times_next(&times, &step, &row));
	cr_assert(row.start_ns <= 5000 && row.end_ns > 5000);
	cr_assert(row.n_returned == 2 && row.n_left == 3);
	cr_assert(span_times_next(&times, &step, &row));
	cr_assert(row.n_left == 4 && row.end_ns == UINT64_MAX);
	cr_assert(!span_times_next(&times, &step, &row));
}

Test(span_times, are_rows_by_powers_of_two)
{
	struct span_times times = { 0 };
	struct span_row row;
	uint32_t step = 0;

	times.n_returned[3] = 1;
	for (uint64_t ns = 4096; ns < 8192; ns += 1024)
		times.n_returned[dp_span_step(ns)]++;
	times.n_left[dp_span_step(8191)] = 5;
	times.n_returned[LAST_STEP] = 7;
	cr_assert(span_times_next_power(&times, &step, &row));
	cr_assert(row.start_ns == 0 && row.end_ns == 4 && row.n_returned == 1);
	cr_assert(span_times_next_power(&times, &step, &row));
	cr_assert(row.start_ns == 4096 && row.end_ns == 8192);
	cr_assert(row.n_returned == 4 && row.n_left == 5);
	cr_assert(span_times_next_power(&times, &step, &row));
	cr_assert(row.start_ns == UINT64_C(1) << 63 && row.end_ns == UINT64_MAX);
	cr_assert(!span_times_next_power(&times, &step, &row));
}

Test(span_times, tell_how_many_did_not_return)
{
	struct span_times times = { .n_begun = 10 };

	times.n_returned[5] = 4;
	times.n_returned[LAST_STEP] = 3;
	cr_assert_eq(span_times_left(&times), 3);
	times.n_begun = 6; /* it is read a moment before */
	cr_assert_eq(span_times_left(&times), 0);
}

static void expect(uint64_t ns, const char *wanted)
{
	char text[SPAN_TIME_SIZE];

	span_times_format(ns, text);
	cr_assert_str_eq(text, wanted);
}

Test(span_times, are_written_with_three_digits)
{
	expect(0, "0 ns");
	expect(999, "999 ns");
	expect(1000, "1 us");
	expect(131072, "131 us");
	expect(999499, "999 us");
	expect(999600, "1 ms");
	expect(4194304, "4.19 ms");
	expect(5000000, "5 ms");
	expect(17179869184, "17.2 s");
	expect(999700000000, "1000 s");
	expect(1099511627776, "1100 s");
}

/* Those of several recordings are added up. */
static int add(void *arg, const struct sample *sample, const struct totals *totals)
{
	return -EINVAL; /* there are none */
}

Test(span_times, are_in_recordings)
{
	const struct report_context context = { .target = "prog (PID 42)",
						.event = "cpu-clock",
						.hz = 99,
						.events = EVENT_BIT(DP_EVENT_CPU),
						.names = some_names() };
	const struct recording_options options = { .names = some_names() };
	struct span_times calls = {
		.name = "f(int)", .min_ns = 5000, .n_begun = 300, .n_long = 20, .n_unbegun = 4
	};
	const struct totals totals = { .calls = &calls, .outside = 1000, .in_unknown = 6 };
	char *file, why[RECORDING_WHY_SIZE];
	struct recording_reader *reader;
	FILE *to, *from, *again;
	size_t file_size;
	const struct totals *found;
	struct report *report;

	to = open_memstream(&file, &file_size);
	calls.n_returned[9] = 200;
	calls.n_left[9] = 2;
	calls.n_left[DP_SPAN_STEPS - 5] = 1;
	cr_assert(report_new(report_format_by_path("x.dwarfprof"), &context, to, &report) == 0);
	cr_assert_eq(report_finish(report, &totals), 0);
	report_free(report);
	fclose(to);

	from = fmemopen(file, file_size, "r");
	cr_assert_eq(recording_reader_new(from, &options, &reader, why), 0);
	cr_assert_eq(recording_reader_run(reader, add, NULL), 0);
	found = recording_reader_totals(reader);
	cr_assert(found->outside == 1000 && found->in_unknown == 6 && found->samples == 0);
	cr_assert_str_eq(found->calls->name, calls.name);
	calls.name = found->calls->name;
	cr_assert_eq(memcmp(found->calls, &calls, sizeof(calls)), 0);
	again = fmemopen(file, file_size, "r");
	cr_assert_eq(recording_reader_continue(reader, again, why), 0);
	cr_assert_eq(recording_reader_run(reader, add, NULL), 0);
	cr_assert(found->outside == 2000 && found->in_unknown == 12);
	cr_assert(found->calls->n_begun == 600 && found->calls->min_ns == 5000);
	cr_assert(found->calls->n_returned[9] == 400 && found->calls->n_left[9] == 4);
	recording_reader_free(reader);
	fclose(from);
	fclose(again);
	free(file);
}
