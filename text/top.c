// SPDX-License-Identifier: Apache-2.0
/*
 * The functions that took most in the last interval, again and again, for `dwarfprof top`. A viewer
 * gets the intervals. Without one, a terminal is redrawn; elsewhere tables follow each other. Nothing
 * is kept of a past interval.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "report/group.h"
#include "report/label_counts.h"
#include "report/profile.h"
#include "report/report.h"
#include "report/value.h"
#include "text/text.h"
#include "text/top_interval.h"
#include "text/top_table.h"

/* ECMA-48: go to the first line; clear to the end of the screen. */
#define HOME "\033[H"
#define CLEAR_REST "\033[J"

struct top {
	struct report report;
	struct profile *profile; /* of the interval; NULL: no samples yet */
	struct label_counts labels;
	struct totals last; /* at the start of the interval */
	size_t n_tables;
};

static int top_begin(struct top *top)
{
	if (top->profile)
		return 0;
	return profile_new((top->report.context.viewer ? PROFILE_THREAD : 0) |
				   (top->report.context.by ? PROFILE_LABELS : 0),
			   &top->profile);
}

static int top_add(struct report *report, const struct sample *sample, const struct totals *totals)
{
	struct top *top = (struct top *)report;
	int err = top_begin(top);

	if (err == 0)
		err = label_counts_add(&top->labels, &report->context, sample);
	return err == 0 ? profile_add(top->profile, sample) : err;
}

#define LINE_SIZE 1024

static void describe_target(const struct top *top, const struct totals *now, char line[LINE_SIZE])
{
	const struct report_context *context = &top->report.context;
	const char *other = value_other_event(context);
	char rate[32] = "";

	if (context->hz)
		snprintf(rate, sizeof(rate), " at %u Hz", context->hz);
	snprintf(line, LINE_SIZE, "%s, %s%s%s%s, %.1f s", context->target, context->event, rate,
		 other ? " and " : "", other ? other : "", (double)now->duration_ns / 1e9);
}

static void describe_samples(const struct top *top, const struct totals *now, char line[LINE_SIZE])
{
	const struct totals *last = &top->last;
	const struct totals part = totals_since(now, last);

	snprintf(line, LINE_SIZE,
		 "last %.1f s: %" PRIu64 " samples, %.1f %% complete, %" PRIu64
		 " lost; in all: %" PRIu64 ", %.1f %%, %" PRIu64,
		 (double)(now->duration_ns - last->duration_ns) / 1e9, part.samples,
		 totals_complete(&part), now->lost - last->lost, now->samples, totals_complete(now),
		 now->lost);
}

/* The value on which shares of an interval are based. */
static uint64_t interval_value(const struct top *top, const struct totals *now)
{
	const struct value value = value_measured(&top->report.context);

	return value_of_totals(&value, now) - value_of_totals(&value, &top->last);
}

/* The most frequent labels; "" if there are none. */
static void describe_labels(struct top *top, const struct totals *now, char line[LINE_SIZE])
{
	size_t n = (size_t)snprintf(line, LINE_SIZE, "labels: ");

	label_counts_describe(&top->labels, interval_value(top, now), line + n, LINE_SIZE - n);
	if (line[n] == '\0')
		line[0] = '\0';
}

static int count_stack(const struct stack *stack, void *arg)
{
	return hot_list_add(arg, stack);
}

static int print_interval(struct top *top, const struct totals *now,
			  char lines[TOP_HEAD_LINES][LINE_SIZE])
{
	const struct group *by = top->report.context.by;
	struct hot_list functions = { .report = &top->report, .has_labels = by != NULL };
	const struct top_table table = { .head = { lines[0], lines[1], lines[2] },
					 .functions = &functions,
					 .label = by ? by->key : NULL,
					 .value = interval_value(top, now) };
	FILE *to = top->report.to;
	bool replaces = isatty(fileno(to));
	int err = profile_for_each(top->profile, count_stack, &functions);

	if (err == 0) {
		if (replaces)
			fputs(top->n_tables ? HOME : HOME CLEAR_REST, to);
		else if (top->n_tables)
			fputc('\n', to);
		err = top_table_print(&table, replaces, to);
	}
	hot_list_done(&functions);
	return err;
}

static int view_interval(struct top *top, const struct totals *now,
			 char lines[TOP_HEAD_LINES][LINE_SIZE])
{
	const struct top_viewer *viewer = top->report.context.viewer;
	struct top_interval *interval;
	int err;

	for (size_t i = 0; i < TOP_HEAD_LINES; i++)
		text_make_plain(lines[i]);
	err = top_interval_new(&top->report, top->profile, interval_value(top, now),
			       (const char *const[]){ lines[0], lines[1], lines[2] }, &interval);
	if (err == 0)
		viewer->show(viewer->arg, interval);
	return err;
}

/* Shows the interval, and starts the next one. */
static int top_show(struct top *top, const struct totals *now)
{
	char lines[TOP_HEAD_LINES][LINE_SIZE];
	int err = top_begin(top);

	if (err < 0)
		return err;
	describe_target(top, now, lines[0]);
	describe_samples(top, now, lines[1]);
	describe_labels(top, now, lines[2]);
	err = top->report.context.viewer ? view_interval(top, now, lines) :
					   print_interval(top, now, lines);
	label_counts_done(&top->labels);
	string_table_done(&top->report.strings); /* the interval's names */
	top->n_tables++;
	top->last = *now;
	top->profile = profile_free(top->profile);
	return err;
}

static int top_tick(struct report *report, const struct totals *totals)
{
	return top_show((struct top *)report, totals);
}

/* The last interval may have been short, and empty. */
static int top_finish(struct report *report, const struct totals *totals)
{
	struct top *top = (struct top *)report;

	return totals->samples == top->last.samples && top->n_tables > 0 ? 0 :
									   top_show(top, totals);
}

static void top_free(struct report *report)
{
	struct top *top = (struct top *)report;

	label_counts_done(&top->labels);
	profile_free(top->profile);
	free(top);
}

static int top_new(struct report **ret)
{
	struct top *top = calloc(1, sizeof(*top));

	if (!top)
		return -ENOMEM;
	top->report.forgets = true;
	top->report.add = top_add;
	top->report.tick = top_tick;
	top->report.finish = top_finish;
	top->report.free = top_free;
	*ret = &top->report;
	return 0;
}

const struct report_format report_top = {
	.name = "top", .extensions = "", .new = top_new, .groups = true
};
