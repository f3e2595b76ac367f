// SPDX-License-Identifier: Apache-2.0
/* What is said of intervals that cannot be written: of each output, once. */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/backend.h"
#include "agent/interval.h"
#include "agent/store.h"
#include "recording/recording_reader.h"
#include "symbols/tests/some_names.h"

static char directory[] = "/tmp/test_interval.XXXXXX";
static char said[8192];
static struct window window = { .until_ns = UINT64_MAX };

static struct store *open_store(void)
{
	const struct store_limits limits = { .size = 1 << 20, .age_ns = UINT64_MAX };
	struct store *store;

	cr_assert(mkdtemp(directory));
	cr_assert_eq(store_open(directory, &limits, &store), 0);
	return store;
}

/* Its spool is too small for any request. */
static struct backend *open_backend(const struct backend_options *options)
{
	struct backend *backend;

	cr_assert_eq(backend_open(options, NULL, 1, &backend), 0);
	return backend;
}

static void write_interval(const struct interval_output *outputs, size_t n,
			   struct interval_counts *counts)
{
	const struct report_context context = { .target = "all processes",
						.event = "cpu-clock",
						.hz = 19,
						.events = EVENT_BIT(DP_EVENT_CPU),
						.started_ns = 1,
						.names = some_names() };
	const struct sample sample = { .time_ns = 2,
				       .weight = 1,
				       .pid = 7,
				       .tid = 7,
				       .comm = "prog",
				       .thread_name = "prog",
				       .outcome = DP_COMPLETE };
	struct totals totals = { .duration_ns = 10 };
	struct interval *interval;
	struct report *report;

	totals_count(&totals, &sample);
	cr_assert_eq(interval_new(outputs, n, &context, &window, NULL, counts, &interval), 0);
	report = interval_report(interval);
	cr_assert_eq(report->add(report, &sample, &totals), 0);
	interval_finish(interval, &totals);
}

/* Returns what was said. */
static const char *write_intervals(const struct interval_output *outputs, size_t n)
{
	struct interval_counts counts = { 0 };
	FILE *file = tmpfile();
	int old = dup(STDERR_FILENO);

	cr_assert(file && dup2(fileno(file), STDERR_FILENO) >= 0);
	for (int i = 0; i < 3; i++)
		write_interval(outputs, n, &counts);
	dup2(old, STDERR_FILENO);
	close(old);
	rewind(file);
	said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
	fclose(file);
	return said;
}

static size_t count(const char *in, const char *text)
{
	size_t n = 0;

	while ((in = strstr(in, text))) {
		in += strlen(text);
		n++;
	}
	return n;
}

Test(interval, failures_are_said_of_each_output)
{
	const struct backend_options options = { .deliver = { .protocol = DELIVER_OTLP,
							      .url = "http://127.0.0.1:1" },
						 .name = "first",
						 .max_label_sets = 10 };
	struct backend_options other = options;
	struct interval_output outputs[3] = { { .store = open_store() },
					      { .backend_options = &options },
					      { .backend_options = &other } };

	other.name = "second";
	outputs[1].backend = open_backend(&options);
	outputs[2].backend = open_backend(&other);
	rmdir(directory);
	write_intervals(outputs, 3);
	cr_assert_eq(count(said, "cannot begin to write an interval"), 1, "%s", said);
	cr_assert_eq(count(said, "first: an interval could not be written"), 1, "%s", said);
	cr_assert_eq(count(said, "second: an interval could not be written"), 1, "%s", said);
	cr_assert_eq(count(said, "an interval"), 3, "%s", said);
	backend_close(outputs[1].backend, 0);
	backend_close(outputs[2].backend, 0);
	store_close(outputs[0].store);
}

static int pass(void *arg, const struct sample *sample, const struct totals *totals)
{
	return 0;
}

static uint64_t read_duration(void)
{
	const struct recording_options options = { .names = some_names() };
	char pattern[64], why[RECORDING_WHY_SIZE];
	struct recording_reader *reader;
	uint64_t duration_ns;
	glob_t found;
	FILE *from;

	snprintf(pattern, sizeof(pattern), "%s/*.dwarfprof", directory);
	cr_assert_eq(glob(pattern, 0, NULL, &found), 0);
	from = fopen(found.gl_pathv[0], "r");
	cr_assert_eq(recording_reader_new(from, &options, &reader, why), 0);
	cr_assert_eq(recording_reader_run(reader, pass, NULL), 0);
	duration_ns = recording_reader_totals(reader)->duration_ns;
	recording_reader_free(reader);
	fclose(from);
	unlink(found.gl_pathv[0]);
	globfree(&found);
	return duration_ns;
}

/* Of ten nanoseconds from 1 on, the first is the run's before it. */
Test(interval, counts_time_from_when_it_takes_over)
{
	struct interval_output output = { .store = open_store() };
	struct interval_counts counts = { 0 };

	window.from_ns = 2;
	write_interval(&output, 1, &counts);
	cr_assert_eq(read_duration(), 9);
	store_close(output.store);
	rmdir(directory);
}
