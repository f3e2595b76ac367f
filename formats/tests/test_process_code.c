// SPDX-License-Identifier: Apache-2.0
/* Formats that list addresses, and code in no file, which each process numbers by itself. */
#include <criterion/criterion.h>
#include <zlib.h>

#include "formats/report_format.h"
#include "report/report.h"
#include "symbols/jit.h"
#include "symbols/tests/some_names.h"

#define N 3

/* What the format writes of functions that only differ in their processes, files and lines. */
static size_t write_report(const char *format, char *ret, size_t size)
{
	const struct report_context context = { .target = "all",
						.event = "cpu-clock",
						.hz = 99,
						.events = EVENT_BIT(DP_EVENT_CPU),
						.symbols = true,
						.names = some_names() };
	static const char *const files[N] = { "first.py", "second.py", "third.py" };
	FILE *to = tmpfile();
	struct totals totals = { 0 };
	struct module *modules[N];
	struct frame frames[N];
	struct report *report;
	gzFile from;
	int n;

	cr_assert(to);
	cr_assert_eq(report_new(report_format_by_name(format), &context, to, &report), 0);
	for (unsigned int i = 0; i < N; i++) {
		frames[i] = (struct frame){ .module = modules[i] = module_new_jit(some_names()) };
		cr_assert_eq(jit_add(modules[i]->jit,
				     &(struct source_location){
					     .function = "main", .file = files[i], .line = 7 + i },
				     &frames[i].offset),
			     0);
		cr_assert_eq(frames[i].offset, frames[0].offset);
	}
	cr_assert_eq(report_add(report,
				&(struct sample){ .weight = 1, .user = frames, .n_user = N },
				&totals),
		     0);
	cr_assert_eq(report_finish(report, &totals), 0);
	report_free(report);
	cr_assert_eq(fflush(to), 0);
	rewind(to);
	from = gzdopen(dup(fileno(to)), "r"); /* passes on what is not compressed */
	n = gzread(from, ret, (unsigned int)size);
	cr_assert_gt(n, 0);
	gzclose(from);
	fclose(to);
	for (unsigned int i = 0; i < N; i++)
		module_free(modules[i]);
	return (size_t)n;
}

static void is_whole(const char *format)
{
	char text[8192];
	size_t size = write_report(format, text, sizeof(text));

	cr_assert(memmem(text, size, "first.py", 8));
	cr_assert(memmem(text, size, "second.py", 9), "%s", format);
	cr_assert(memmem(text, size, "third.py", 8), "%s", format);
}

Test(process_code, is_apart_in_pprof)
{
	is_whole("pprof");
}

Test(process_code, is_apart_in_otlp)
{
	is_whole("otlp");
}
