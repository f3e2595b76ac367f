// SPDX-License-Identifier: Apache-2.0
/*
 * A self-contained page: a head with what was profiled and the quality of the samples, and
 * speedscope with the profile that formats/speedscope.c writes. speedscope gets it by the function
 * that its own command line uses, loadFileFromBase64().
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/base64_stream.h"
#include "formats/gzip_stream.h"
#include "formats/markup.h"
#include "formats/report_format.h"
#include "formats/scripts.h"
#include "formats/speedscope.h"
#include "formats/viewer.h"
#include "report/outcome.h"
#include "report/report.h"
#include "report/span_times.h"
#include "report/verified.h"

struct html {
	struct report report;
	struct timeline timeline;
};

/*
 * Nothing may be fetched, whatever the viewer tries: everything is in the page.
 *
 * speedscope takes over the page's body, and draws behind it on a canvas of the window's size, at
 * the positions of its elements in the window. Therefore the head comes before the body, and the
 * canvas, the body's first element, stays at the window's origin. Its rules use classes and
 * `!important`: `:not(#_)` has more weight.
 */
static const char page_begin[] =
	"<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:\">\n"
	"<meta name=\"generator\" content=\"dwarfprof " DP_VERSION "\">\n";

static const char page_style[] =
	"<style>\n"
	"html { display: flex; flex-direction: column; height: 100%; overflow: hidden }\n"
	"body { flex: 1 1 0; min-height: 0; height: auto; overflow: hidden }\n"
	"body > div:not(#_) { height: 100% !important }\n"
	"body > div:not(#_) > div:first-child { position: fixed !important; top: 0; left: 0 }\n"
	"#dwarfprof { flex: none; position: relative; z-index: 9; box-sizing: border-box;\n"
	"  padding: 6px 10px; font: 13px/1.5 system-ui, sans-serif; color: #222;\n"
	"  background: #f4f4f4; border-bottom: 1px solid #ccc }\n"
	"#dwarfprof { display: flex; gap: 12px } #dwarfprof details { flex: 1 }\n"
	"#dwarfprof label[hidden] { display: none } #dwarfprof select { max-width: 34ch }\n"
	"#kinds span { padding-right: 8px }\n"
	"#kinds i { display: inline-block; width: 9px; height: 9px; margin-right: 4px }\n"
	"#dwarfprof b { font-weight: 600 }\n"
	"#dwarfprof summary { cursor: pointer; list-style: revert; display: list-item }\n"
	"#dwarfprof .bad { color: #b00020; font-weight: 600 }\n"
	"#dwarfprof div { max-height: 40vh; overflow: auto; padding: 4px 0 2px 16px }\n"
	"#dwarfprof td { padding-right: 14px; vertical-align: top }\n"
	"#dwarfprof td.n { text-align: right; font-variant-numeric: tabular-nums }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"  #dwarfprof { color: #ddd; background: #2a2a2a; border-color: #444 }\n"
	"  #dwarfprof .bad { color: #ff8a80 }\n"
	"}\n"
	"</style>\n";

/*
 * Comes before the viewer's own script. That offers its function only if the fragment of the
 * address names a file, and at once adds an element to the head to load the file; this element is
 * suppressed. What the reader has put into the fragment, such as `#view=sandwich`, is kept.
 */
static const char page_script[] =
	"<script>\n"
	"(function () {\n"
	"  var head = document.getElementById('dwarfprof');\n"
	"  var profile = document.getElementById('profile').textContent.trim();\n"
	"  var fragment = location.hash;\n"
	"  document.documentElement.insertBefore(head, document.body);\n"
	"  head.addEventListener('toggle', function () {\n"
	"    window.dispatchEvent(new Event('resize'));\n"
	"  }, true);\n"
	"  Object.defineProperty(window, 'speedscope', { configurable: true, set: function (api) {\n"
	"    Object.defineProperty(window, 'speedscope', { value: api });\n"
	"    document.head.appendChild = function (loader) {\n"
	"      delete document.head.appendChild;\n"
	"      return loader;\n"
	"    };\n"
	"    history.replaceState(null, '', fragment || location.pathname + location.search);\n"
	"    setTimeout(function () {\n"
	"      api.loadFileFromBase64('dwarfprof.speedscope.json', profile);\n"
	"    });\n"
	"  } });\n"
	"  history.replaceState(null, '', '#localProfilePath=embedded&' +\n"
	"    (fragment.length > 1 ? fragment.slice(1) : 'view=left-heavy'));\n"
	"})();\n"
	"</script>\n";

static int put_row(const char *name, const char *value, FILE *to)
{
	int err;

	if (!value)
		return 0;
	fprintf(to, "<tr><td>%s<td colspan=\"2\">", name);
	err = markup_put_text(value, to);
	fputc('\n', to);
	return err;
}

static void put_number_row(const char *name, uint64_t value, FILE *to)
{
	fprintf(to, "<tr><td>%s<td class=\"n\">", name);
	markup_put_count(value, to);
	fputs("<td>\n", to);
}

static int put_started(const struct report_context *context, FILE *to)
{
	time_t started = (time_t)(context->started_real_ns / 1000000000);
	char text[64];
	struct tm tm;

	if (started == 0 || !localtime_r(&started, &tm) ||
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm) == 0)
		return 0;
	return put_row("started", text, to);
}

/* How long the calls took in which the samples are. */
static int put_calls(const struct totals *totals, FILE *to)
{
	const struct span_times *calls = totals->calls;
	char from[SPAN_TIME_SIZE], to_time[SPAN_TIME_SIZE];
	struct span_row row;
	uint32_t step = 0;
	int err;

	span_times_format(calls->min_ns, from);
	fputs("<tr><td>calls of ", to);
	err = markup_put_text(calls->name, to);
	fputs("<td class=\"n\">", to);
	markup_put_count(calls->n_begun, to);
	fputs("<td>", to);
	markup_put_count(calls->n_long, to);
	fprintf(to, " took at least %s, ", from);
	markup_put_count(span_times_left(calls), to);
	fputs(" were not seen to return\n", to);
	put_number_row("samples in none of these", totals->outside, to);
	put_number_row("samples, perhaps in one", totals->in_unknown, to);
	while (span_times_next_power(calls, &step, &row)) {
		span_times_format(row.start_ns, from);
		span_times_format(row.end_ns, to_time);
		fprintf(to, "<tr><td>%s to %s<td class=\"n\">", from, to_time);
		markup_put_count(row.n_returned, to);
		fputs("<td>", to);
		if (row.n_left > 0) {
			markup_put_count(row.n_left, to);
			fputs(" or longer, not seen to return", to);
		}
		fputc('\n', to);
	}
	return err;
}

/* Writes the numbers of outcomes, and further facts. */
static int put_details(const struct report_context *context, const struct totals *totals, FILE *to)
{
	int err;

	fputs("<div><table>\n", to);
	err = put_row("command", context->command, to);
	if (err == 0)
		err = put_row("machine", context->host, to);
	if (err == 0)
		err = put_row("kernel", context->kernel, to);
	if (err == 0)
		err = put_started(context, to);
	put_number_row("samples lost", totals->lost, to);
	if (totals->lost_ns > 0) {
		fputs("<tr><td>time lost<td class=\"n\">", to);
		markup_put_value(context, totals->lost_ns, to);
		fputs("<td>\n", to);
	}
	if (totals->events != totals->samples)
		put_number_row("scaled to events", totals->events, to);
	for (int i = 0; i < DP_N_OUTCOMES; i++) {
		if (totals->outcomes[i] == 0)
			continue;
		fprintf(to, "<tr><td>%s<td class=\"n\">", outcome_word(i));
		markup_put_count(totals->outcomes[i], to);
		fprintf(to, "<td>%s\n", outcome_sentence(i));
	}
	if (totals->verified) {
		fputs("<tr><td>verified by libdwfl<td colspan=\"2\">", to);
		verified_print(totals->verified, to);
		fputc('\n', to);
	}
	if (err == 0 && totals->calls)
		err = put_calls(totals, to);
	fprintf(to, "<tr><td>viewer<td colspan=\"2\">%s\n</table></div>\n", viewer_name);
	return err;
}

static int put_head(const struct report_context *context, const struct totals *totals, FILE *to)
{
	uint64_t with_stack = totals_with_user_stack(totals);
	int err;

	fputs("<header id=\"dwarfprof\"><details><summary><b>", to);
	err = markup_put_text(context->target, to);
	fputs("</b>, ", to);
	if (err == 0)
		err = markup_put_event(context, to);
	fprintf(to, ", %.1f s &nbsp;|&nbsp; ", (double)totals->duration_ns / 1e9);
	markup_put_count(totals->samples, to);
	fprintf(to, " samples, <span%s>", totals->lost ? " class=\"bad\"" : "");
	markup_put_count(totals->lost, to);
	fputs(" lost</span> &nbsp;|&nbsp; complete: ", to);
	markup_put_count(totals->outcomes[DP_COMPLETE], to);
	fputs(" of ", to);
	markup_put_count(with_stack, to);
	fprintf(to, " with a user stack (%.1f %%)</summary>\n", totals_complete(totals));
	if (err == 0)
		err = put_details(context, totals, to);
	fputs("</details><span id=\"kinds\"></span><label id=\"picker\" hidden>Show only "
	      "<select></select> <output></output></label></header>\n<noscript>This page needs JavaScript.</noscript>\n",
	      to);
	return err;
}

/* err: of earlier writes, which takes precedence. */
static int close_stream(FILE *stream, int err)
{
	if (fclose(stream) != 0 && err == 0)
		err = errno ? -errno : -EIO;
	return err;
}

static int put_profile(struct html *html, const struct totals *totals, FILE *to)
{
	FILE *text = base64_stream_open(to);
	FILE *packed = text ? gzip_stream_open(text) : NULL;
	int err = -ENOMEM;

	fputs("<script type=\"application/octet-stream\" id=\"profile\">\n", to);
	if (packed)
		err = close_stream(packed, speedscope_write(&html->report, &html->timeline, totals,
							    packed));
	if (text)
		err = close_stream(text, err);
	fputs("\n</script>\n", to);
	return err;
}

static int html_finish(struct report *report, const struct totals *totals)
{
	FILE *to = report->to;
	int err;

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n", to);
	fputs(page_begin, to);
	fputs("<title>", to);
	err = markup_put_text(report->context.target, to);
	fputs(" - dwarfprof</title>\n</head>\n<body>\n", to);
	if (err == 0)
		err = put_head(&report->context, totals, to);
	if (err == 0)
		err = put_profile((struct html *)report, totals, to);
	fputs(page_script, to);
	fprintf(to, "<script>\n%s</script>\n", html_colours_script);
	fwrite(viewer_html, 1, viewer_size, to);
	fprintf(to, "<script>\n%s</script>\n", html_filter_script);
	fputs(page_style, to); /* the last rule applies */
	fputs("</body>\n</html>\n", to);
	return err;
}

static int html_add(struct report *report, const struct sample *sample, const struct totals *totals)
{
	return timeline_add(&((struct html *)report)->timeline, &report->context, sample);
}

static void html_free(struct report *report)
{
	struct html *html = (struct html *)report;

	timeline_done(&html->timeline);
	free(html);
}

int report_html_new(struct report **ret)
{
	struct html *html = calloc(1, sizeof(*html));

	if (!html)
		return -ENOMEM;
	if (timeline_init(&html->timeline) < 0) {
		free(html);
		return -ENOMEM;
	}
	html->timeline.has_values = true;
	html->report.add = html_add;
	html->report.finish = html_finish;
	html->report.free = html_free;
	*ret = &html->report;
	return 0;
}

const char *report_html_missing(void)
{
	return viewer_size > 0 ? NULL :
				 "this build has no viewer for HTML: run `ci/setup viewers` and "
				 "`meson setup --reconfigure BUILD`, and build again, or write "
				 ".speedscope.json or .svg";
}
