// SPDX-License-Identifier: Apache-2.0
#include "formats/report_format.h"

#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "recording/recording.h"
#include "text/text.h"

static const struct report_format formats[] = {
	{ "folded", ".folded .collapsed", report_folded_new, .groups = true },
	{ "jsonl", ".jsonl", report_jsonl_new, .streams = true },
	{ "recording", ".dwarfprof", report_recording_new, .is_binary = true, .streams = true,
	  .use = "`dwarfprof report' shows it" },
	{ "text", ".txt", report_text_new, .groups = true },
	{ "pprof", ".pb.gz .pprof", report_pprof_new, .is_binary = true },
	{ "otlp", ".otlp", report_otlp_new, .is_binary = true, .no_memory = true },
	{ "perf-script", ".perf", report_perf_script_new, .groups = true, .streams = true,
	  .no_memory = true },
	{ "speedscope", ".speedscope.json", report_speedscope_new, .groups = true,
	  .no_memory = true, .use = "https://www.speedscope.app shows it" },
	{ "html", ".html .htm", report_html_new, .groups = true, .missing = report_html_missing,
	  .use = "open it in a browser" },
	{ "json", ".json", report_json_new },
	{ "svg", ".svg", report_svg_new, .groups = true, .use = "open it in a browser" },
	{ "firefox", ".firefox.json", report_firefox_new, .groups = true, .no_memory = true,
	  .use = "https://profiler.firefox.com shows it" },
	{ "firefox-gz", ".firefox.json.gz", report_firefox_gz_new, .groups = true,
	  .no_memory = true, .is_binary = true, .use = "https://profiler.firefox.com shows it" },
};

const struct report_format *report_format_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

static bool ends_with(const char *path, const char *ending, size_t n)
{
	size_t length = strlen(path);

	return length > n && strncmp(path + length - n, ending, n) == 0;
}

size_t report_match_extension(const char *extensions, const char *path)
{
	size_t longest = 0;

	while (*extensions) {
		size_t n = strcspn(extensions, " ");

		if (n > longest && ends_with(path, extensions, n))
			longest = n;
		extensions += n;
		extensions += strspn(extensions, " ");
	}
	return longest;
}

/* An extension may end with another one: the longest match counts. */
const struct report_format *report_format_by_path(const char *path)
{
	const struct report_format *found = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		size_t n = report_match_extension(formats[i].extensions, path);

		if (n > longest) {
			found = &formats[i];
			longest = n;
		}
	}
	return found;
}

void report_format_list(FILE *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		fprintf(to, "%s%s (%s)", i ? ", " : "", formats[i].name, formats[i].extensions);
}

void report_format_list_names(FILE *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		fprintf(to, "%s%s", i ? ", " : "", formats[i].name);
}
