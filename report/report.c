// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "report/group.h"
#include "report/piped.h"
#include "symbols/kallsyms.h"

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

const char *report_kernel_label(const struct report *report, uint64_t address, size_t i,
				char buffer[FRAME_LABEL_SIZE])
{
	const char *name = NULL;
	uint64_t offset;

	/* As in user space, a return address belongs to the call before it. */
	if (report->context.kallsyms)
		name = kallsyms_find(report->context.kallsyms, address - (i > 0), &offset);
	if (name)
		return name;
	snprintf(buffer, FRAME_LABEL_SIZE, "0x%" PRIx64, address);
	return buffer;
}

int report_new(const struct report_format *format, const struct report_context *context, FILE *to,
	       struct report **ret)
{
	struct report *report;
	int err = format->new (&report);

	if (err < 0)
		return err;
	report->context = *context;
	if (!format->groups)
		report->context.by = NULL;
	report->to = to;
	report->streams = format->streams;
	*ret = report;
	return 0;
}

void report_set_piped(struct report *report, struct piped *piped)
{
	report->piped = piped;
	report->to = piped_file(piped);
}

static bool is_given_up(const struct report *report)
{
	return report->piped && piped_is_given_up(report->piped);
}

static int add(struct report *report, const struct sample *sample, const struct totals *totals)
{
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	struct sample grouped = *sample;
	int err = 0;

	if (report->context.by) {
		err = group_labels_new(report->context.by,
				       report->context.n_several ? REPORT_EVENT : NULL, sample,
				       &labels);
		grouped.labels = labels;
	}
	if (err == 0)
		err = report->add(report, report->context.by ? &grouped : sample, totals);
	if (report->streams && report->strings.n > REPORT_MAX_STRINGS)
		string_table_done(&report->strings);
	return err;
}

int report_add(struct report *report, const struct sample *sample, const struct totals *totals)
{
	int err = is_given_up(report) ? 0 : add(report, sample, totals);

	if (report->piped && (err == 0 || is_given_up(report)))
		err = piped_count(report->piped, report->n_held);
	return err;
}

int report_tick(struct report *report, const struct totals *totals)
{
	return report->tick ? report->tick(report, totals) : 0;
}

/* The errno of an earlier write is lost by now. */
int report_write_error(FILE *to)
{
	errno = 0;
	if (fflush(to) == 0 && !ferror(to))
		return 0;
	/* Nothing was left in the buffer to fail again. One more byte does, in a broken report. */
	if (errno == 0 && fputc('\n', to) != EOF)
		fflush(to);
	return errno ? -errno : -EIO;
}

int report_finish(struct report *report, const struct totals *totals)
{
	int err = is_given_up(report) ? 0 : report->finish(report, totals);
	int write_err = err == 0 || err == -EIO ? report_write_error(report->to) : 0;

	if (is_given_up(report))
		return 0;
	return write_err < 0 ? write_err : err;
}

struct report *report_free(struct report *report)
{
	if (report) {
		string_table_done(&report->strings);
		report->free(report);
	}
	return NULL;
}
