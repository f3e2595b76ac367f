// SPDX-License-Identifier: Apache-2.0
/* The memory that recordings take while they are written and read. */
#include <criterion/criterion.h>
#include <limits.h>
#include <sys/resource.h>

#include "formats/report_format.h"
#include "formats/tests/recording_samples.h"
#include "recording/recording.h"
#include "recording/recording_reader.h"
#include "symbols/tests/some_names.h"

static const struct report_context context = {
	.target = "prog (PID 42)",
	.event = "cpu-clock",
	.command = "dwarfprof -p 42 -o x.dwarfprof",
	.host = "here",
	.kernel = "Linux 6.18.5 x86_64",
	.hz = 4999,
	.events = EVENT_BIT(DP_EVENT_OFF_CPU) | EVENT_BIT(DP_EVENT_CPU),
	.symbols = true,
};

/* In KiB. */
static long peak_memory(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* AddressSanitizer keeps freed memory, of which so nothing can be said: fewer samples do. */
#ifdef __SANITIZE_ADDRESS__
#define N_MANY 100000
#define LIMIT_KIB LONG_MAX
#else
#define N_MANY 1000000
#define LIMIT_KIB (200 << 10)
#endif

static void check_memory(long before)
{
	cr_assert_lt(peak_memory() - before, LIMIT_KIB, "%ld KiB", peak_memory() - before);
}

static int count_sample(void *arg, const struct sample *sample, const struct totals *totals)
{
	++*(size_t *)arg;
	return 0;
}

/* Most of a million stacks differ, so known records must be forgotten again and again. */
Test(recording_memory, takes_no_more_memory_with_more_samples, .timeout = 300)
{
	struct random_samples *r = malloc(sizeof(*r));
	struct recording_options options = { .names = some_names() };
	struct recording_reader *reader;
	FILE *to = tmpfile();
	char why[RECORDING_WHY_SIZE];
	struct report *report;
	long before = peak_memory();
	size_t n = 0;

	random_init(r, 9, 10000000);
	r->shallow = true;
	cr_assert(report_new(report_format_by_name("recording"), &context, to, &report) == 0);
	for (size_t i = 0; i < N_MANY; i++) {
		random_sample(r);
		cr_assert(report_add(report, &r->sample, &r->totals) == 0);
	}
	cr_assert(report_finish(report, &r->totals) == 0);
	report_free(report);
	check_memory(before);

	rewind(to);
	cr_assert_eq(recording_reader_new(to, &options, &reader, why), 0, "%s", why);
	cr_assert_eq(recording_reader_run(reader, count_sample, &n), 0);
	cr_assert_null(recording_reader_fault(reader));
	cr_assert_eq(n, N_MANY);
	cr_assert_eq(recording_reader_totals(reader)->time_ns, r->totals.time_ns);
	recording_reader_free(reader);
	check_memory(before);
	fclose(to);
	random_free(r);
}
