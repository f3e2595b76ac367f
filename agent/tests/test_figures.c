// SPDX-License-Identifier: Apache-2.0
/* What the agent tells of itself, for programs and for people. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/figures.h"
#include "symbols/debug_queue.h"

#define SECOND UINT64_C(1000000000)

static char *text;

static void write_text(void (*write)(const struct figures *figures, FILE *to),
		       const struct figures *figures)
{
	size_t size;
	FILE *to;

	free(text);
	text = NULL;
	to = open_memstream(&text, &size);
	cr_assert(to);
	write(figures, to);
	cr_assert_eq(fclose(to), 0);
}

static void tear_down(void)
{
	free(text);
}

TestSuite(figures, .fini = tear_down);

static struct figures of_backends(void)
{
	return (struct figures){
		.n_backends = 2,
		.backends = {
			{ .name = "first",
			  .counts = { .deliver = { .delivered = 4, .latency_ns = 3 * SECOND / 2 } } },
			{ .name = "a \"second\"",
			  .counts.error = { .real_ns = 86400 * SECOND, .text = "<b>broken</b>" } },
		},
	};
}

/* The kernel counts them only if it is told to. */
Test(figures, say_how_long_programs_in_the_kernel_run)
{
	struct figures f = { 0 };

	write_text(figures_write_page, &f);
	cr_assert(strstr(text, "which walk stacks</th><td>not measured"));
	f.run.usage.programs.is_counting = true;
	write_text(figures_write_page, &f);
	cr_assert(strstr(text, "which walk stacks</th><td>none yet<"), "%s", text);
	f.run.usage.programs.runs = 1000;
	f.run.usage.programs.time_ns = SECOND / 200;
	write_text(figures_write_page, &f);
	cr_assert(strstr(text, "which walk stacks</th><td>5.0 µs each, 0.01 s</td>"), "%s", text);
}

Test(figures, say_how_long_backends_take)
{
	const struct figures f = of_backends();

	write_text(figures_write_metrics, &f);
	cr_assert(strstr(text, "# TYPE dwarfprof_delivery_seconds summary\n"
			       "# UNIT dwarfprof_delivery_seconds seconds\n"));
	cr_assert(strstr(text, "\ndwarfprof_delivery_seconds_count{backend=\"first\"} 4\n"
			       "dwarfprof_delivery_seconds_sum{backend=\"first\"} 1.500000\n"));
	cr_assert(strstr(text, "_seconds_count{backend=\"a \\\"second\\\"\"} 0\n"));
}

Test(figures, name_backends_in_any_language)
{
	const struct figures f = { .n_backends = 1, .backends = { { .name = "zürich\n" } } };

	write_text(figures_write_metrics, &f);
	cr_assert(strstr(text, "_seconds_count{backend=\"zürich?\"} 0\n"));
}

Test(figures, say_why_samples_are_lost)
{
	const struct figures f = {
		.totals = { .lost = 7,
			    .lost_by = { [LOST_RINGS_FULL] = 4, [LOST_REPORTS_FULL] = 3 } }
	};

	write_text(figures_write_metrics, &f);
	cr_assert(strstr(text, "\ndwarfprof_samples_lost_total{reason=\"rings_full\"} 4\n"
			       "dwarfprof_samples_lost_total{reason=\"reports_full\"} 3\n"
			       "dwarfprof_samples_lost_total{reason=\"nested\"} 0\n"));
	write_text(figures_write_page, &f);
	cr_assert(strstr(text, "<th>lost: rings_full</th><td>4</td><td>no room on"));
	cr_assert(strstr(text, "<th>lost: reports_full</th><td>3</td>"));
	cr_assert_null(strstr(text, "lost: nested"));
}

Test(figures, say_how_long_the_kernel_walks)
{
	const struct figures f = { .run.usage.programs = { .runs = 3, .time_ns = SECOND / 4 } };

	write_text(figures_write_metrics, &f);
	cr_assert(strstr(text, "\ndwarfprof_walk_seconds_count 3\n"
			       "dwarfprof_walk_seconds_sum 0.250000\n"));
}

Test(figures, say_what_names_take)
{
	const struct figures f = { .run.kept = { .symbols = 3 << 20,
						 .strings = 5 << 19,
						 .max_symbols = 4 << 20,
						 .max_strings = 8 << 20,
						 .n_forgotten = 7 } };

	write_text(figures_write_metrics, &f);
	cr_assert(strstr(text, "\ndwarfprof_symbol_memory_bytes 3145728\n"));
	cr_assert(strstr(text, "\ndwarfprof_symbol_memory_limit_bytes 4194304\n"));
	cr_assert(strstr(text, "\ndwarfprof_string_memory_bytes 2621440\n"));
	cr_assert(strstr(text, "\ndwarfprof_string_memory_limit_bytes 8388608\n"));
	cr_assert(strstr(text, "\ndwarfprof_symbols_freed_total 7\n"));
	write_text(figures_write_page, &f);
	cr_assert(strstr(text, "<th>symbols</th><td>3.0 MiB</td></tr>\n"
			       "<tr><th>their names</th><td>2.5 MiB</td></tr>\n"
			       "<tr><th>binaries of which these were freed for lack of room</th>"
			       "<td>7</td>"));
}

Test(figures, say_that_the_rate_is_lower)
{
	struct figures f = { .run.hz = 9, .asked_hz = 19, .rate_lowered = 2, .rate_raised = 1 };

	write_text(figures_write_metrics, &f);
	cr_assert(strstr(text, "\ndwarfprof_sampling_rate_hertz 9\n"));
	cr_assert(strstr(text, "\ndwarfprof_sampling_rate_asked_hertz 19\n"));
	cr_assert(strstr(text, "\ndwarfprof_sampling_rate_lowered_total 2\n"));
	cr_assert(strstr(text, "\ndwarfprof_sampling_rate_raised_total 1\n"));
	write_text(figures_write_page, &f);
	cr_assert(strstr(text, "<td>9</td></tr>\n<tr><th>to keep up, instead of"
			       "</th><td>19</td>"));
	f.run.hz = 19;
	write_text(figures_write_page, &f);
	cr_assert_null(strstr(text, "no time"));
}

Test(figures, say_what_went_wrong_last)
{
	struct figures f = of_backends();

	write_text(figures_write_page, &f);
	cr_assert(strstr(text, "<th>its last error</th><td>1970-01-02 00:00:00 UTC: "
			       "&lt;b&gt;broken&lt;/b&gt;</td>"));
	cr_assert_null(strstr(strstr(text, "its last error") + 1, "its last error"));
	cr_assert_null(strstr(text, "last error of the store"));
	cr_assert_null(strstr(text, "last one refused"));
	f.store_err = -ENOSPC;
	f.store_failed_real_ns = f.reload_failed_real_ns = 2 * 86400 * SECOND;
	f.reload_err = -EINVAL;
	write_text(figures_write_page, &f);
	cr_assert(strstr(text, "<th>last error of the store</th><td>1970-01-03 00:00:00 UTC: "
			       "No space left on device</td>"));
	cr_assert(strstr(text, "<th>last one refused; the log says more</th>"
			       "<td>1970-01-03 00:00:00 UTC: Invalid argument</td>"));
}

/* Only of an agent that asks servers for debug files. */
Test(figures, say_how_requests_for_debug_files_end)
{
	const struct debug_queue_counts fetched = { .found = 7, .absent = 8, .failed = 9 };
	struct figures f = { 0 };

	write_text(figures_write_metrics, &f);
	cr_assert_null(strstr(text, "debug_files"));
	f.fetched = &fetched;
	write_text(figures_write_metrics, &f);
	cr_assert(strstr(text, "\ndwarfprof_debug_files_found_total 7\n"));
	cr_assert(strstr(text, "\ndwarfprof_debug_files_absent_total 8\n"));
	cr_assert(strstr(text, "\ndwarfprof_debug_files_failed_total 9\n"));
	write_text(figures_write_page, &f);
	cr_assert(strstr(text, "debug files from servers</th><td>7<"));
}
