// SPDX-License-Identifier: Apache-2.0
/* Recordings of different sampling rates are added up by the time that each sample stands for. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "formats/report_format.h"
#include "recording/recording.h"
#include "recording/recording_reader.h"
#include "symbols/tests/some_names.h"
#include "report/value.h"

static char why[RECORDING_WHY_SIZE];
static bool is_wall; /* what is recorded has blocks, too: one of 5 ms */

struct file {
	char *data;
	size_t size;
	FILE *from;
};

/* n samples, one lost. Events: of several, if not 0. */
static void record(unsigned int hz, unsigned int n, const char *event, size_t n_several,
		   struct file *ret)
{
	static const struct report_event several[] = { { "cycles", "cycles" },
						       { "faults", "faults" } };
	const struct report_context context = {
		.target = "prog",
		.event = event,
		.hz = hz,
		.events = EVENT_BIT(DP_EVENT_CPU) | (is_wall ? EVENT_BIT(DP_EVENT_OFF_CPU) : 0),
		.several = several,
		.n_several = n_several,
		.names = some_names()
	};
	struct totals totals = { .lost = 1, .lost_ns = is_wall ? 3000000 : 0 };
	struct report *report;
	FILE *to = open_memstream(&ret->data, &ret->size);

	cr_assert_eq(report_new(report_format_by_path("x.dwarfprof"), &context, to, &report), 0);
	for (unsigned int i = 0; i < n + is_wall; i++) {
		const struct sample sample = { .time_ns = 1 + i,
					       .event = i < n ? DP_EVENT_CPU : DP_EVENT_OFF_CPU,
					       .value_ns = !is_wall ? 0 :
							   i < n    ? 1000000000 / hz :
								      5000000,
					       .weight = 1,
					       .pid = 7,
					       .tid = 7,
					       .comm = "prog",
					       .thread_name = "prog",
					       .outcome = DP_COMPLETE };

		totals_count(&totals, &sample);
		cr_assert_eq(report_add(report, &sample, &totals), 0);
	}
	cr_assert_eq(report_finish(report, &totals), 0);
	report_free(report);
	fclose(to);
	ret->from = fmemopen(ret->data, ret->size, "r");
}

static void file_done(struct file *file)
{
	fclose(file->from);
	free(file->data);
}

static struct recording_reader *begin(struct file *file)
{
	const struct recording_options options = { .names = some_names() };
	struct recording_reader *reader;

	cr_assert_eq(recording_reader_new(file->from, &options, &reader, why), 0, "%s", why);
	return reader;
}

static bool differs(const struct recording_reader *reader, const struct file *file)
{
	FILE *from = fmemopen(file->data, file->size, "r");
	bool result = recording_reader_differs_in_rate(reader, from);

	fclose(from);
	return result;
}

static int add(void *arg, const struct sample *sample, const struct totals *totals)
{
	return report_add(arg, sample, totals);
}

static int sum_times(void *arg, const struct sample *sample, const struct totals *totals)
{
	*(uint64_t *)arg += sample->value_ns;
	return 0;
}

/* Writes both in a format. The caller frees the text. */
static char *report_both(struct file *a, struct file *b, const char *format, size_t *ret_size)
{
	struct recording_reader *reader = begin(a);
	struct report *report;
	char *text;
	FILE *to = open_memstream(&text, ret_size);

	cr_assert(differs(reader, b));
	recording_reader_count_time(reader);
	cr_assert_eq(report_new(report_format_by_name(format), recording_reader_context(reader), to,
				&report),
		     0);
	cr_assert_eq(recording_reader_run(reader, add, report), 0);
	cr_assert_eq(recording_reader_continue(reader, b->from, why), 0, "%s", why);
	cr_assert_eq(recording_reader_run(reader, add, report), 0);
	cr_assert_eq(report_finish(report, recording_reader_totals(reader)), 0);
	report_free(report);
	fclose(to);
	recording_reader_free(reader);
	return text;
}

/* Writes what both are as a recording in a format. The caller frees the text. */
static char *report_again(struct file *a, struct file *b, const char *format, size_t *ret_size)
{
	struct recording_reader *reader;
	struct report *report;
	struct file both;
	char *text;
	FILE *to = open_memstream(&text, ret_size);

	both.data = report_both(a, b, "recording", &both.size);
	cr_assert_eq(both.data[RECORDING_MAGIC_SIZE], RECORDING_VERSION_TIMED);
	cr_assert_eq(a->data[RECORDING_MAGIC_SIZE], RECORDING_VERSION);
	both.from = fmemopen(both.data, both.size, "r");
	reader = begin(&both);
	cr_assert(recording_reader_context(reader)->timed);
	cr_assert_eq(report_new(report_format_by_name(format), recording_reader_context(reader), to,
				&report),
		     0);
	cr_assert_eq(recording_reader_run(reader, add, report), 0);
	cr_assert_eq(report_finish(report, recording_reader_totals(reader)), 0);
	report_free(report);
	fclose(to);
	recording_reader_free(reader);
	file_done(&both);
	return text;
}

typedef char *report_fn(struct file *a, struct file *b, const char *format, size_t *ret_size);

static void expect_of(report_fn *make, const char *format, const char *text)
{
	struct file a, b;
	size_t size;
	char *found;

	record(100, 3, "cpu-clock", 0, &a);
	record(50, 2, "cpu-clock", 0, &b);
	found = make(&a, &b, format, &size);
	cr_assert(memmem(found, size, text, strlen(text)), "no %s in %s", text, format);
	free(found);
	file_done(&a);
	file_done(&b);
}

static void expect(const char *format, const char *text)
{
	expect_of(report_both, format, text);
	expect_of(report_again, format, text);
}

/* Three of 10 ms and two of 20. */
Test(rates, are_added_up_by_time)
{
	expect("jsonl", "\"value_ns\":20000000");
	expect("json", "\"time_ns\":70000000");
	expect("json", "\"lost_ns\":30000000");
	expect("json", "\"samples\":5");
	expect("json", "\"off_cpu\":true");
	expect("otlp", "nanoseconds");
	expect("text", "Time: 70.000 ms, lost: 30.000 ms");
}

/* And of blocks, two of 5 ms. */
Test(rates, of_wall_time_are_added_up_by_time)
{
	is_wall = true;
	expect("jsonl", "\"value_ns\":20000000");
	expect("jsonl", "\"value_ns\":5000000");
	expect("json", "\"time_ns\":80000000");
	expect("json", "\"lost_ns\":6000000");
	expect("json", "\"name\":\"wall\"");
	expect("otlp", "\003cpu");
	expect("otlp", "\007off_cpu");
	expect("otlp", "\004wall");
}

/* Nor are rates named. */
Test(rates, are_forgotten_in_a_message)
{
	struct file a, b, both, counted;
	struct recording_reader *reader;

	record(100, 1, "cpu-clock", 0, &a);
	record(50, 1, "cpu-clock", 0, &b);
	record(100, 1, "cycles", 0, &counted);
	both.data = report_both(&a, &b, "recording", &both.size);
	both.from = fmemopen(both.data, both.size, "r");
	reader = begin(&counted);
	cr_assert_eq(recording_reader_continue(reader, both.from, why), -EMEDIUMTYPE);
	cr_assert(strstr(why, "cpu-clock at several rates"), "%s", why);
	recording_reader_free(reader);
	file_done(&a);
	file_done(&b);
	file_done(&both);
	file_done(&counted);
}

/* What is written as a recording again says so, and can be added to others of any rate. */
Test(rates, are_forgotten_in_a_recording)
{
	struct file a, b, both, more;
	struct recording_reader *reader;
	struct totals found;
	uint64_t time_ns = 0;

	record(100, 3, "cpu-clock", 0, &a);
	record(50, 2, "cpu-clock", 0, &b);
	record(19, 1, "cpu-clock", 0, &more);
	both.data = report_both(&a, &b, "recording", &both.size);
	both.from = fmemopen(both.data, both.size, "r");
	reader = begin(&more);
	cr_assert(differs(reader, &both));
	recording_reader_free(reader);
	rewind(more.from);
	reader = begin(&both);
	cr_assert(recording_reader_context(reader)->timed);
	cr_assert(differs(reader, &more));
	cr_assert_eq(recording_reader_run(reader, sum_times, &time_ns), 0);
	cr_assert_eq(time_ns, 70000000);
	cr_assert_eq(recording_reader_continue(reader, more.from, why), 0, "%s", why);
	cr_assert_eq(recording_reader_run(reader, sum_times, &time_ns), 0);
	found = *recording_reader_totals(reader);
	cr_assert(found.samples == 6 && found.time_ns == 70000000 + 1000000000 / 19);
	cr_assert_eq(time_ns, found.time_ns);
	recording_reader_free(reader);
	file_done(&a);
	file_done(&b);
	file_done(&both);
	file_done(&more);
}

static void expect_unlike(unsigned int hz, const char *event, size_t n_several)
{
	struct recording_reader *reader;
	struct file a, b;

	record(100, 1, "cpu-clock", n_several, &a);
	record(hz, 1, event, n_several, &b);
	reader = begin(&a);
	cr_assert_not(differs(reader, &b));
	cr_assert_eq(recording_reader_continue(reader, b.from, why), -EMEDIUMTYPE);
	recording_reader_free(reader);
	file_done(&a);
	file_done(&b);
}

Test(rates, do_not_make_other_events_alike)
{
	expect_unlike(50, "cycles", 0);
	expect_unlike(0, "cpu-clock", 0);
	expect_unlike(50, "cpu-clock", 2); /* these are counted, and have no time */
}

static void expect_same(void)
{
	struct recording_reader *reader;
	struct file a, b;

	record(100, 1, "cpu-clock", 0, &a);
	record(100, 1, "cpu-clock", 0, &b);
	reader = begin(&a);
	cr_assert_not(differs(reader, &b));
	cr_assert_not(recording_reader_context(reader)->timed);
	cr_assert_eq(recording_reader_continue(reader, b.from, why), 0, "%s", why);
	recording_reader_free(reader);
	file_done(&a);
	file_done(&b);
}

Test(rates, may_be_the_same)
{
	expect_same();
	is_wall = true;
	expect_same();
}
