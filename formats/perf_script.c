// SPDX-License-Identifier: Apache-2.0
/*
 * Samples as `perf script -F +pid` prints them, for its readers: stackcollapse-perf.pl, speedscope,
 * the Firefox Profiler, hotspot (tools/perf/builtin-script.c, process_event(), and
 * tools/perf/util/evsel_fprintf.c, sample__fprintf_callchain()). Written sample by sample, so
 * memory does not grow with their number.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "formats/report_format.h"
#include "report/outcome.h"
#include "report/report.h"
#include "report/symbolized.h"
#include "report/value.h"
#include "report/verified.h"
#include "symbols/kallsyms.h"

#define UNKNOWN "[unknown]"

struct perf_script {
	struct report report;
	struct symbolized_stack symbolized;
	bool begun;
};

/* Writes a name from elsewhere between our own words. */
static void put_plain(const char *name, FILE *to)
{
	_cleanup_free_ char *copy = strdup(name);

	if (!copy)
		return;
	text_make_plain(copy);
	fputs(copy, to);
}

/* Readers recognise perf's text by its first line. */
static void put_head(struct perf_script *script)
{
	const struct report_context *context = &script->report.context;
	time_t started = (time_t)(context->started_real_ns / 1000000000);
	FILE *to = script->report.to;
	struct tm tm;
	char date[64];

	if (script->begun)
		return;
	script->begun = true;
	fputs("# ========\n", to);
	if (started > 0 && localtime_r(&started, &tm) &&
	    strftime(date, sizeof(date), "%a %b %e %H:%M:%S %Y", &tm) > 0)
		fprintf(to, "# captured on    : %s\n", date);
	if (context->host) {
		fputs("# hostname : ", to);
		put_plain(context->host, to);
		fputc('\n', to);
	}
	if (context->kernel) {
		fputs("# os release : ", to);
		put_plain(context->kernel, to);
		fputc('\n', to);
	}
	fputs("# dwarfprof version : " DP_VERSION "\n# cmdline : ", to);
	put_plain(context->command ? context->command : "dwarfprof", to);
	fputs("\n# target : ", to);
	put_plain(context->target, to);
	fputs("\n# ========\n#\n", to);
}

/*
 * The name at the start of a sample. For readers it ends before the first number of two or more
 * characters, and a line that begins with # is a comment.
 */
static void put_comm(const struct sample *sample, FILE *to)
{
	char comm[DP_COMM_SIZE + 1];

	strcpy(comm, sample->thread_name[0] ? sample->thread_name : sample->comm);
	text_make_plain(comm);
	if (comm[0] == '\0')
		strcpy(comm, "?");
	if (comm[0] == ' ' || comm[0] == '#')
		comm[0] = '_';
	fputs(comm, to);
	if (comm[1] == '\0')
		fputc(' ', to);
}

/* One word, as readers require. */
static void put_event(const struct report_context *context, const struct sample *sample, FILE *to)
{
	const char *event = value_other_event(context) ? "wall" : value_event_name(context, sample);
	_cleanup_free_ char *copy = strdup(event);

	if (!copy)
		return;
	for (char *c = copy; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			*c = '_';
	text_make_plain(copy);
	fputs(copy, to);
}

/* Cycles and calls are counted; times are in nanoseconds. */
static uint64_t sample_period(const struct report_context *context, const struct sample *sample)
{
	const struct value value = strcmp(context->event, "cpu-clock") == 0 ?
					   value_main(context) :
					   value_measured(context);

	return value_of_sample(&value, sample);
}

/* Offset of an address in its function, which readers remove again. */
static bool symbolized_offset(const struct report *report,
			      const struct symbolized_frame *symbolized, uint64_t *ret)
{
	uint64_t address = symbolized->address - symbolized->is_call, start, offset;

	if (symbolized->kind == SYMBOLIZED_KERNEL) {
		if (!kallsyms_find(report->context.kallsyms, address, &offset))
			return false;
		*ret = offset + symbolized->is_call;
		return true;
	}
	if (!symbolized->module || module_find_start(symbolized->module, address, &start) < 0)
		return false;
	*ret = symbolized->address - start;
	return true;
}

static void put_binary(const struct symbolized_frame *symbolized, FILE *to)
{
	if (symbolized->is_inlined) {
		fputs(" (inlined)\n", to);
		return;
	}
	fputs(" (", to);
	if (!symbolized->binary)
		fputs(UNKNOWN, to);
	else if (symbolized->kind != SYMBOLIZED_KERNEL)
		put_plain(symbolized->binary, to);
	else if (strcmp(symbolized->binary, REPORT_KERNEL) == 0)
		fputs("[kernel.kallsyms]", to);
	else {
		fputc('[', to);
		put_plain(symbolized->binary, to);
		fputc(']', to);
	}
	fputs(")\n", to);
}

static void put_frame(const struct report *report, const struct symbolized_frame *symbolized)
{
	bool is_function = symbolized->is_named || symbolized->has_start;
	FILE *to = report->to;
	uint64_t offset;

	fprintf(to, "\t%16" PRIx64 " ", symbolized->address);
	if (is_function || symbolized->kind == SYMBOLIZED_MARK)
		put_plain(symbolized->name, to);
	else
		fputs(UNKNOWN, to);
	if (is_function && symbolized_offset(report, symbolized, &offset))
		fprintf(to, "+0x%" PRIx64, offset);
	put_binary(symbolized, to);
}

static int perf_script_add(struct report *report, const struct sample *sample,
			   const struct totals *totals)
{
	static const struct symbolized_frame nothing = { .kind = SYMBOLIZED_USER, .name = UNKNOWN };
	struct perf_script *script = (struct perf_script *)report;
	int err = symbolized_stack_make_sample(report, sample, SYMBOLIZED_LABELS,
					       &script->symbolized);
	FILE *to = report->to;

	if (err < 0)
		return err;
	put_head(script);
	put_comm(sample, to);
	fprintf(to, " %5d/%-5d [%03u] %5" PRIu64 ".%06" PRIu64 ": %10" PRIu64 " ", sample->pid,
		sample->tid, sample->cpu, sample->time_ns / 1000000000,
		sample->time_ns % 1000000000 / 1000, sample_period(&report->context, sample));
	put_event(&report->context, sample, to);
	fputs(": \n", to);
	for (size_t i = 0; i < script->symbolized.n; i++)
		put_frame(report, &script->symbolized.items[i]);
	if (script->symbolized.n == 0)
		put_frame(report, &nothing); /* readers skip a sample without a stack */
	return fputc('\n', to) == EOF ? -errno : 0;
}

/* As comments, which readers ignore. */
static int perf_script_finish(struct report *report, const struct totals *totals)
{
	FILE *to = report->to;

	put_head((struct perf_script *)report);
	fprintf(to,
		"# %" PRIu64 " samples, %" PRIu64 " lost, %" PRIu64 " of %" PRIu64
		" with a user stack complete (%.1f %%)\n",
		totals->samples, totals->lost, totals->outcomes[DP_COMPLETE],
		totals_with_user_stack(totals), totals_complete(totals));
	for (int i = DP_COMPLETE + 1; i < DP_N_OUTCOMES; i++)
		if (totals->outcomes[i] > 0)
			fprintf(to, "# %" PRIu64 " %s: %s\n", totals->outcomes[i], outcome_word(i),
				outcome_sentence(i));
	if (totals->verified) {
		fputs("# verified by libdwfl: ", to);
		verified_print(totals->verified, to);
		fputc('\n', to);
	}
	return 0;
}

static void perf_script_free(struct report *report)
{
	struct perf_script *script = (struct perf_script *)report;

	symbolized_stack_done(&script->symbolized);
	free(script);
}

int report_perf_script_new(struct report **ret)
{
	struct perf_script *script = calloc(1, sizeof(*script));

	if (!script)
		return -ENOMEM;
	script->report.add = perf_script_add;
	script->report.finish = perf_script_finish;
	script->report.free = perf_script_free;
	*ret = &script->report;
	return 0;
}
