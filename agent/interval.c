// SPDX-License-Identifier: Apache-2.0
#include "agent/interval.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/backend.h"
#include "agent/process_labels.h"
#include "agent/recent.h"
#include "agent/store.h"
#include "formats/report_format.h"
#include "log/clock.h"
#include "log/log.h"

/* A full disk fails every interval of every output: one line in this time tells it. */
#define SAY_NS UINT64_C(600000000000)

struct written {
	const struct interval_output *output;
	struct store_file file;
	struct report *report;
	int err;
};

struct interval {
	struct report report;
	const struct window *window;
	struct process_labels *labels;
	struct interval_counts *counts;
	struct totals out; /* of samples outside the window */
	bool has_begun;
	uint64_t began_ns; /* without regard to the window */
	struct written *written;
	size_t n;
};

static struct seldom *failures_of(struct interval_counts *counts,
				  const struct interval_output *output)
{
	if (output->backend)
		return backend_failures(output->backend);
	return output->store ? &counts->store_failures : &counts->recent_failures;
}

/* One output's failures do not keep another's from being said. */
static void say_failure(struct interval_counts *counts, const struct interval_output *output,
			const char *what, int err)
{
	const char *name = output->backend ? backend_name(output->backend) : "";
	char more[64] = "";
	uint64_t unsaid;

	if (!seldom_may_say(failures_of(counts, output), SAY_NS, &unsaid))
		return;
	if (unsaid > 0)
		snprintf(more, sizeof(more), " (and %" PRIu64 " more since the last message)",
			 unsaid);
	log_error("%s%s%s: %s%s", name, *name ? ": " : "", what, strerror(-err), more);
}

/* The reports learn when they begin before their first sample, which is when they write it. */
static void begin(struct interval *i)
{
	struct report_context *c = &i->report.context;
	uint64_t from = atomic_load(&i->window->from_ns);

	if (i->has_begun)
		return;
	i->has_begun = true;
	i->began_ns = c->started_ns;
	if (from != UINT64_MAX && from > c->started_ns) {
		c->started_real_ns += from - c->started_ns;
		c->started_ns = from;
	}
	for (size_t k = 0; k < i->n; k++) {
		i->written[k].report->context.started_ns = c->started_ns;
		i->written[k].report->context.started_real_ns = c->started_real_ns;
	}
}

static int interval_add(struct report *report, const struct sample *sample,
			const struct totals *totals)
{
	struct interval *i = (struct interval *)report;
	struct sample own = *sample;
	struct totals counted;
	int err = 0;

	if (i->n == 0 || !window_cut(i->window, &own, &i->out))
		return 0;
	begin(i);
	if (i->labels)
		err = process_labels_of(i->labels, sample, &own.labels);
	if (err < 0)
		return err;
	counted = totals_since(totals, &i->out);
	for (size_t k = 0; k < i->n; k++)
		if (i->written[k].err == 0)
			i->written[k].err = report_add(i->written[k].report, &own, &counted);
	return 0;
}

static int open_output(struct interval *i, const struct interval_output *output, struct written *w)
{
	int err;

	if (output->backend)
		return backend_report_new(output->backend, output->backend_options,
					  &i->report.context, &w->report);
	if (output->recent)
		return recent_report_new(output->recent, output->named, &i->report.context,
					 &w->report);
	err = store_begin(output->store, &w->file);
	if (err == 0)
		err = report_new(report_format_by_name("recording"), &i->report.context, w->file.to,
				 &w->report);
	if (err < 0)
		store_drop(output->store, &w->file);
	return err;
}

static void note_failure(struct interval_counts *counts, const struct interval_output *output,
			 int err)
{
	counts->failed += !output->recent;
	if (!output->store)
		return;
	atomic_store(&counts->store_err, err);
	atomic_store(&counts->store_failed_real_ns, clock_real_ns());
}

static void add_output(struct interval *i, const struct interval_output *output)
{
	struct written *w = &i->written[i->n];
	int err = open_output(i, output, w);

	if (err < 0) {
		note_failure(i->counts, output, err);
		say_failure(i->counts, output, "cannot begin to write an interval", err);
		return;
	}
	w->output = output;
	i->report.streams &= w->report->streams;
	i->n++;
}

int interval_new(const struct interval_output *outputs, size_t n,
		 const struct report_context *context, const struct window *window,
		 struct process_labels *labels, struct interval_counts *counts,
		 struct interval **ret)
{
	struct interval *i = calloc(1, sizeof(*i));

	*ret = NULL;
	if (!i || !(i->written = calloc(n + 1, sizeof(*i->written)))) {
		free(i);
		return -ENOMEM;
	}
	i->report.context = *context;
	i->report.streams = true;
	i->report.add = interval_add;
	i->window = window;
	i->labels = labels;
	i->counts = counts;
	for (size_t k = 0; k < n; k++)
		add_output(i, &outputs[k]);
	*ret = i;
	return 0;
}

struct report *interval_report(struct interval *i)
{
	return &i->report;
}

void interval_begin(struct interval *i, uint64_t started_ns, uint64_t started_real_ns)
{
	i->report.context.started_ns = started_ns;
	i->report.context.started_real_ns = started_real_ns;
}

/* The time that counts, of the totals' time, which ends when the profiler stopped. */
static uint64_t counted_ns(const struct interval *i, uint64_t duration_ns)
{
	uint64_t until = atomic_load(&i->window->until_ns), end = i->began_ns + duration_ns;

	end = end < until ? end : until;
	return end > i->report.context.started_ns ? end - i->report.context.started_ns : 0;
}

void interval_finish(struct interval *i, const struct totals *totals)
{
	struct totals counted = totals_since(totals, &i->out);

	begin(i);
	counted.duration_ns = counted_ns(i, totals->duration_ns);
	for (size_t k = 0; k < i->n; k++) {
		struct written *w = &i->written[k];

		if (w->err == 0)
			w->err = w->output->store ? report_finish(w->report, &counted) :
						    w->report->finish(w->report, &counted);
		if (w->err == 0 && w->output->store)
			w->err = store_end(w->output->store, &w->file,
					   i->report.context.started_real_ns);
		if (w->err == 0) {
			i->counts->written += !w->output->recent;
			continue;
		}
		note_failure(i->counts, w->output, w->err);
		say_failure(i->counts, w->output, "an interval could not be written, and is lost",
			    w->err);
	}
	interval_free(i);
}

struct interval *interval_free(struct interval *i)
{
	if (!i)
		return NULL;
	for (size_t k = 0; k < i->n; k++) {
		report_free(i->written[k].report);
		if (i->written[k].output->store)
			store_drop(i->written[k].output->store, &i->written[k].file);
	}
	free(i->written);
	free(i);
	return NULL;
}
