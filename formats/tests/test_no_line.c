// SPDX-License-Identifier: Apache-2.0
/* Code whose file is known, but not its line: every format that can show the file does. */
#include <criterion/criterion.h>
#include <zlib.h>

#include "base/array.h"
#include "formats/report_format.h"
#include "report/report.h"
#include "symbols/jit.h"
#include "symbols/tests/some_names.h"
#include "text/text.h"

/* What the format writes of such a function. */
static size_t write_report(const struct report_format *format, char *ret, size_t size)
{
	static const struct source_location location = { .function = "main", .file = "a.py" };
	const struct report_context context = { .target = "all",
						.event = "cpu-clock",
						.hz = 99,
						.events = EVENT_BIT(DP_EVENT_CPU),
						.symbols = true,
						.names = some_names() };
	struct module *module = module_new_jit(some_names());
	struct frame frame = { .module = module, .method = DP_METHOD_PYTHON };
	FILE *to = tmpfile();
	struct totals totals = { 0 };
	struct report *report;
	gzFile from;
	int n;

	cr_assert(to);
	cr_assert_eq(report_new(format, &context, to, &report), 0);
	cr_assert_eq(jit_add(module->jit, &location, &frame.offset), 0);
	cr_assert_eq(report_add(report,
				&(struct sample){ .weight = 1, .user = &frame, .n_user = 1 },
				&totals),
		     0);
	cr_assert_eq(report_finish(report, &totals), 0);
	report_free(report);
	cr_assert_eq(fflush(to), 0);
	rewind(to);
	from = gzdopen(dup(fileno(to)), "r"); /* passes on what is not compressed */
	n = gzread(from, ret, (unsigned int)size - 1);
	cr_assert_gt(n, 0);
	gzclose(from);
	fclose(to);
	module_free(module);
	ret[n] = '\0';
	return (size_t)n;
}

static void shows(const char *format, const char *wanted)
{
	char text[16384];
	size_t size = write_report(report_format_by_name(format), text, sizeof(text));

	cr_assert(memmem(text, size, wanted, strlen(wanted)), "%s: %s", format, text);
}

Test(no_line, has_its_file_in_each_sample)
{
	shows("jsonl", "\"file\":\"a.py\",\"line\":null,\"column\":null");
}

Test(no_line, has_its_file_in_json)
{
	shows("json", "\"source_location\":{\"file\":\"a.py\",\"line\":null,\"column\":null}");
}

Test(no_line, has_its_file_in_profiles)
{
	static const char *const formats[] = { "pprof", "otlp", "firefox" };

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		shows(formats[i], "a.py");
	shows("speedscope", "{\"name\":\"main\",\"file\":\"a.py\",\"kind\":\"python\"}");
}

Test(no_line, has_its_file_in_stacks_for_people)
{
	char text[4096];

	(void)write_report(&report_stacks, text, sizeof(text));
	cr_assert(strstr(text, "  main at a.py [python]\n"), "%s", text);
}
