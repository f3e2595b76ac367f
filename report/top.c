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
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"
#include "report/hot_list.h"
#include "report/label_counts.h"
#include "report/profile.h"
#include "report/report.h"
#include "report/terminal.h"
#include "report/top_interval.h"
#include "report/value.h"

/* Rows of a table for a file, and lines around the table on a terminal. */
#define TOP_ROWS 20
#define TOP_OTHER_ROWS 5
#define TOP_MIN_COLUMNS 60

/* ECMA-48: go to the first line; clear to the end of the line, to the end of the screen. */
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_REST "\033[J"

struct top {
	struct report report;
	struct profile *profile; /* of the interval; NULL: no samples yet */
	struct label_counts labels;
	struct totals last; /* at the start of the interval */
	size_t n_tables;
};

/* The target of a table. */
struct screen {
	FILE *to;
	bool is_terminal;
	int rows, columns;
};

static int top_begin(struct top *top)
{
	if (top->profile)
		return 0;
	return profile_new(top->report.context.viewer ? PROFILE_THREAD : 0, &top->profile);
}

static int top_add(struct report *report, const struct sample *sample, const struct totals *totals)
{
	struct top *top = (struct top *)report;
	int err = top_begin(top);

	if (err == 0)
		err = label_counts_add(&top->labels, &report->context, sample);
	return err == 0 ? profile_add(top->profile, sample) : err;
}

static void screen_init(struct screen *screen, FILE *to)
{
	struct winsize size = { 0 };

	*screen = (struct screen){ .to = to, .rows = TOP_ROWS, .columns = 200 };
	screen->is_terminal = isatty(fileno(to));
	if (!screen->is_terminal || ioctl(fileno(to), TIOCGWINSZ, &size) < 0)
		return;
	if (size.ws_row > TOP_OTHER_ROWS)
		screen->rows = size.ws_row - TOP_OTHER_ROWS;
	if (size.ws_row > 0)
		screen->columns = size.ws_col > TOP_MIN_COLUMNS ? size.ws_col : TOP_MIN_COLUMNS;
}

/* A line must not be wider than the screen: it would move the others down. */
static void put_line(const struct screen *screen, char *line)
{
	size_t at = 0;
	int columns = 0;

	text_make_plain(line);
	while (line[at] && columns++ < screen->columns - 1) {
		uint32_t c;

		at += text_character(line + at, &c);
	}
	line[at] = '\0';
	fprintf(screen->to, "%s%s\n", line, screen->is_terminal ? CLEAR_LINE : "");
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

static double percent(uint64_t value, uint64_t all)
{
	return all > 0 ? 100.0 * (double)value / (double)all : 0;
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

/* Blanks that are missing behind a name. */
static int pad(const char *name, int width)
{
	int n = (int)terminal_width(name, strlen(name));

	return n < width ? width - n : 0;
}

static void print_functions(struct top *top, const struct hot_list *functions,
			    const struct totals *now, const struct screen *screen)
{
	uint64_t all = interval_value(top, now);
	int width = screen->columns - 40 < 50 ? screen->columns - 40 : 50;
	int n = 0;
	char line[2048], name[1024];

	snprintf(line, sizeof(line), "%8s %8s  %-*s %s", "self", "total", width, "function",
		 "binary");
	put_line(screen, line);
	for (const struct hot *f = functions->functions; f && n < screen->rows;
	     f = f->hh.next, n++) {
		snprintf(name, sizeof(name), "%s", f->name);
		text_make_plain(name); /* it may have been cut in a character */
		if (screen->is_terminal)
			terminal_shorten(name, (size_t)width);
		snprintf(line, sizeof(line), "%6.1f %% %6.1f %%  %s%*s %s", percent(f->self, all),
			 percent(f->total, all), name, pad(name, width), "",
			 hot_list_binary(functions, f));
		put_line(screen, line);
	}
}

static int count_stack(const struct stack *stack, void *arg)
{
	return hot_list_add(arg, stack);
}

static int print_interval(struct top *top, const struct totals *now, char lines[3][LINE_SIZE])
{
	struct hot_list functions = { .report = &top->report };
	struct screen screen;
	int err = profile_for_each(top->profile, count_stack, &functions);

	hot_list_sort(&functions);
	screen_init(&screen, top->report.to);
	if (err == 0) {
		if (screen.is_terminal)
			fputs(top->n_tables ? HOME : HOME CLEAR_REST, screen.to);
		else if (top->n_tables)
			fputc('\n', screen.to);
		for (size_t i = 0; i < 3; i++)
			put_line(&screen, lines[i]);
		print_functions(top, &functions, now, &screen);
		if (screen.is_terminal)
			fputs(CLEAR_REST, screen.to);
		errno = 0;
		if (fflush(screen.to) != 0)
			err = errno ? -errno : -EIO;
	}
	hot_list_done(&functions);
	return err;
}

static int view_interval(struct top *top, const struct totals *now, char lines[3][LINE_SIZE])
{
	const struct top_viewer *viewer = top->report.context.viewer;
	struct top_interval *interval;
	int err;

	for (size_t i = 0; i < 3; i++)
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
	char lines[3][LINE_SIZE];
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
