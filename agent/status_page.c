// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "agent/figures.h"
#include "agent/own_use.h"
#include "formats/markup.h"
#include "report/outcome.h"
#include "symbols/debug_queue.h"

static void put_row(FILE *to, const char *what, const char *value)
{
	fprintf(to, "<tr><th>%s</th><td>", what);
	(void)markup_put_text(value, to);
	fputs("</td></tr>\n", to);
}

static void put_number(FILE *to, const char *what, uint64_t value)
{
	fprintf(to, "<tr><th>%s</th><td>%" PRIu64 "</td></tr>\n", what, value);
}

static void put_mib(FILE *to, const char *what, uint64_t bytes)
{
	fprintf(to, "<tr><th>%s</th><td>%.1f MiB</td></tr>\n", what, (double)bytes / 1048576);
}

static void put_time(FILE *to, uint64_t real_ns)
{
	time_t time = (time_t)(real_ns / 1000000000);
	char text[64] = "";
	struct tm tm;

	if (gmtime_r(&time, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm);
	fputs(text, to);
}

/* Nothing, if none has happened. */
static void put_error(FILE *to, const char *what, uint64_t real_ns, const char *why)
{
	if (real_ns == 0)
		return;
	fprintf(to, "<tr><th>%s</th><td>", what);
	put_time(to, real_ns);
	fputs(": ", to);
	(void)markup_put_text(why, to);
	fputs("</td></tr>\n", to);
}

static void put_what(const struct figures *f, FILE *to)
{
	fputs("<h2>What is profiled</h2>\n<table>\n", to);
	put_row(to, "host", f->host);
	put_row(to, "kernel", f->kernel);
	put_row(to, "target", f->run.is_on ? f->run.target : "not yet: tables are being made");
	put_row(to, "event", f->run.event);
	if (f->run.hz)
		put_number(to, "samples per second and CPU", f->run.hz);
	if (f->run.hz < f->asked_hz)
		put_number(to, "to keep up, instead of", f->asked_hz);
	fputs("<tr><th>since</th><td>", to);
	put_time(to, f->started_real_ns);
	fputs("</td></tr>\n</table>\n", to);
}

static void put_outcomes(const struct totals *t, FILE *to)
{
	fprintf(to,
		"<h2>Stacks</h2>\n<p>%" PRIu64 " samples, %" PRIu64 " lost; %.2f %% of %" PRIu64
		" user stacks are complete.</p>\n<table>\n",
		t->samples, t->lost, totals_complete(t), totals_with_user_stack(t));
	for (enum lost_reason i = 0; i < LOST_N_REASONS; i++)
		if (t->lost_by[i] > 0)
			fprintf(to, "<tr><th>lost: %s</th><td>%" PRIu64 "</td><td>%s</td></tr>\n",
				lost_reason_word(i), t->lost_by[i], lost_reason_sentence(i));
	for (int i = DP_COMPLETE + 1; i < DP_N_OUTCOMES; i++) {
		if (t->outcomes[i] == 0)
			continue;
		fprintf(to, "<tr><th>%s</th><td>%" PRIu64 "</td><td>", outcome_word(i),
			t->outcomes[i]);
		(void)markup_put_text(outcome_sentence(i), to);
		fputs("</td></tr>\n", to);
	}
	fputs("</table>\n", to);
}

static void put_programs(const struct run_stats *programs, FILE *to)
{
	fputs("<tr><th>runs of BPF programs, which walk stacks</th><td>", to);
	if (programs->runs > 0)
		fprintf(to, "%.1f \302\265s each, %.2f s</td></tr>\n",
			(double)programs->time_ns / 1e3 / (double)programs->runs,
			(double)programs->time_ns / 1e9);
	else if (programs->is_counting)
		fputs("none yet</td></tr>\n", to);
	else
		fputs("not measured, as the sysctl kernel.bpf_stats_enabled is 0</td></tr>\n", to);
}

static void put_costs(const struct figures *f, FILE *to)
{
	struct own_use own, helpers;

	own_use_read(&own, &helpers);
	fputs("<h2>Costs</h2>\n<table>\n", to);
	fprintf(to, "<tr><th>CPU time</th><td>%.2f s, helpers %.2f s</td></tr>\n", own.cpu_seconds,
		helpers.cpu_seconds);
	if (f->cpu_share > 0)
		fprintf(to,
			"<tr><th>for tables and names, at most %.3g %% of a CPU</th><td>%.2f s; "
			"they have waited %.2f s</td></tr>\n",
			100 * f->cpu_share, (double)f->helpers_spent_ns / 1e9,
			(double)f->helpers_waited_ns / 1e9);
	if (f->fetched)
		put_number(to, "debug files from servers", f->fetched->found);
	put_programs(&f->run.usage.programs, to);
	put_mib(to, "private memory", own.private_bytes);
	put_mib(to, "private memory of helpers", helpers.private_bytes);
	put_mib(to, "tables in the kernel", f->run.usage.table_bytes);
	put_mib(to, "their limit", f->run.usage.table_limit);
	put_number(to, "tables evicted for lack of room", f->run.usage.tables_evicted);
	put_mib(to, "symbols", f->run.kept.symbols);
	put_mib(to, "their names", f->run.kept.strings);
	put_number(to, "binaries of which these were freed for lack of room",
		   f->run.kept.n_forgotten);
	fputs("</table>\n", to);
}

static void put_files(const struct figures *f, FILE *to)
{
	fputs("<h2>Intervals</h2>\n<table>\n", to);
	put_number(to, "files written", f->intervals_written);
	put_number(to, "files that could not be written", f->intervals_failed);
	if (f->has_store) {
		put_number(to, "recordings in the store", f->store.n);
		put_mib(to, "their size", f->store.size);
		put_number(to, "old ones removed", f->store.n_removed);
		put_number(to, "incomplete ones of a killed agent, removed", f->store.n_cleaned);
	}
	put_error(to, "last error of the store", f->store_failed_real_ns, strerror(-f->store_err));
	put_number(to, "processes that ended before their cgroup was read",
		   f->processes_unlabelled);
	put_number(to, "configurations taken", f->reloads);
	put_number(to, "configurations refused", f->reloads_failed);
	put_error(to, "last one refused; the log says more", f->reload_failed_real_ns,
		  strerror(-f->reload_err));
	put_number(to, "new runs because of the memory limit", f->renewals);
	fputs("</table>\n", to);
}

/* What is left of those that are too many. */
static void put_kept(const struct backend_counts *counts, FILE *to)
{
	static const char *const words[SERIES_N_KEPT] = SERIES_KEPT_WORDS;

	for (enum series_kept kept = SERIES_THREAD; kept < SERIES_N_KEPT; kept++)
		if (counts->kept[kept] > 0)
			fprintf(to, ", %" PRIu64 " keep %s", counts->kept[kept], words[kept]);
}

static void put_left(const struct left_counts *left, FILE *to)
{
	if (left->n == 0 && left->removed == 0)
		return;
	fprintf(to,
		"<tr><th>that no agent delivers</th><td>%" PRIu64 " requests wait (%" PRIu64
		" bytes), %" PRIu64 " removed</td></tr>\n",
		left->n, left->bytes, left->removed);
}

static void put_backends(const struct figures *f, FILE *to)
{
	if (f->n_backends == 0 && f->left.n == 0 && f->left.removed == 0)
		return;
	fputs("<h2>Backends</h2>\n<table>\n", to);
	for (size_t i = 0; i < f->n_backends; i++) {
		const struct deliver_counts *c = &f->backends[i].counts.deliver;

		fputs("<tr><th>", to);
		(void)markup_put_text(f->backends[i].name, to);
		fprintf(to,
			"</th><td>%" PRIu64 " requests delivered, %" PRIu64 " wait, %" PRIu64
			" given up, %" PRIu64 " without room, %" PRIu64 " attempts more; %" PRIu64
			" samples dropped by rules, %" PRIu64 " of too many sets of labels",
			c->delivered, c->spooled, c->failed, c->dropped, c->retried,
			f->backends[i].counts.filtered, f->backends[i].counts.folded);
		put_kept(&f->backends[i].counts, to);
		fputs("</td></tr>\n", to);
		put_error(to, "its last error", f->backends[i].counts.error.real_ns,
			  f->backends[i].counts.error.text);
	}
	put_left(&f->left, to);
	fputs("</table>\n", to);
}

void figures_write_page(const struct figures *f, FILE *to)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	      "<title>dwarfprof agent</title>\n<style>body{font:15px sans-serif;margin:2em}"
	      "th{text-align:left;font-weight:normal;padding-right:2em;color:#555}"
	      "td{padding-right:1em}</style></head><body>\n<h1>dwarfprof agent " DP_VERSION
	      "</h1>\n",
	      to);
	fprintf(to, "<p>%s</p>\n",
		f->is_healthy ? "Samples are read." : "<b>No samples are read.</b>");
	put_what(f, to);
	fputs("<h2>The last minute</h2>\n"
	      "<object type=\"image/svg+xml\" data=\"/flame-graph\">No flame graph yet.</object>\n"
	      "<p>Of the next <a href=\"/flame-graph?seconds=10\">ten seconds</a>, "
	      "<a href=\"/flame-graph?seconds=60\">minute</a>.</p>\n",
	      to);
	put_outcomes(&f->totals, to);
	put_costs(f, to);
	put_files(f, to);
	put_backends(f, to);
	fputs("</body></html>\n", to);
}
