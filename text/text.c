// SPDX-License-Identifier: Apache-2.0
/*
 * The short report for a person: what was profiled, the quality of the stacks, the top functions,
 * and the heaviest stack.
 */
#include "text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sum.h"
#include "base/text.h"
#include "report/group.h"
#include "report/label_counts.h"
#include "report/outcome.h"
#include "report/profile.h"
#include "report/report.h"
#include "report/symbolized.h"
#include "report/value.h"
#include "report/verified.h"
#include "symbols/failures.h"
#include "symbols/names.h"
#include "text/calls_section.h"
#include "text/colours.h"
#include "text/exceptions.h"
#include "text/hints.h"
#include "text/hot_list.h"
#include "text/hottest.h"
#include "text/plain.h"
#include "text/terminal.h"

#define TEXT_TOP 20
/* Columns of a row of the hottest stack other than the name: the share, and " (inlined)". */
#define ROW_WIDTH 29
/* Functions of the hottest stack that are shown at its root, and at its leaf. */
#define TEXT_ROOT 10
#define TEXT_LEAF 30
/* Keys of labels that are shown, and labels of each. */
#define TEXT_KEYS 8
#define TEXT_LABELS 5

struct text {
	struct report report;
	struct profile *profile;
	struct value value; /* of the shares; with several events, of one after the other */
	struct hot_list functions;
	struct hottest hottest;
	struct frame_values values; /* of the functions of stacks */
	struct exceptions exceptions;
	uint64_t sum;                           /* of the values of all stacks */
	bool is_memory, is_held;                /* are the values of memory, and of what is held? */
	struct label_counts labels[VALUES_MAX]; /* by event */
	uint64_t n_numbered
		[REPORT_EVENTS_MAX]; /* of each event, those that have a number (--value) */
	uint64_t more[VALUES_MAX];   /* sums of further numbers: stacks lack their labels */
	struct hints hints;
	const struct colours *colours;
	struct terminal terminal;
};

/* Events and exceptions are told apart by their label. */
static int add_to_profile(struct text *text, const struct sample *sample, uint32_t *ret)
{
	const struct group by_type = { .key = LABEL_EXCEPTION_TYPE };
	const char *event = text->report.context.n_several > 0 ? REPORT_EVENT : NULL;
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	struct sample alike = *sample;
	int err = group_labels_new(&by_type, event, sample, &labels);

	alike.labels = labels;
	return err == 0 ? profile_add_numbered(text->profile, &alike, ret) : err;
}

static void add_more(struct text *text, const struct sample *sample)
{
	struct value values[VALUES_MAX];
	size_t n = text->report.context.n_more > 0 ? values_of(&text->report.context, values) : 0;

	for (size_t i = 0; i < n; i++)
		if (values[i].label)
			sum_increase(&text->more[i], value_of_sample(&values[i], sample));
}

static int text_add(struct report *report, const struct sample *sample, const struct totals *totals)
{
	struct text *text = (struct text *)report;
	size_t i = value_event_number(&report->context, sample);
	uint32_t stack;
	int err = label_counts_add(&text->labels[i], &report->context, sample);

	if (value_own_name(&report->context, sample) &&
	    !value_own_is_missing(&report->context, sample))
		text->n_numbered[i] += sample->weight;
	add_more(text, sample);
	if (err == 0)
		err = exceptions_add(&text->exceptions, sample);
	if (err == 0)
		err = add_to_profile(text, sample, &stack);
	return err == 0 ? frame_values_add(&text->values, sample, stack) : err;
}

static int count_stack(const struct stack *stack, void *arg)
{
	struct text *text = arg;
	uint64_t value = value_of_stack(&text->value, stack);
	int err;

	if (value == 0 && (text->value.event || text->is_memory))
		return 0;
	err = hot_list_add(&text->functions, stack);
	if (err == 0 && !text->is_held)
		err = hints_add(&text->hints, &text->functions.symbolized, value);
	if (err == 0 && !text->value.event)
		err = exceptions_add_stack(&text->exceptions, &text->report, stack,
					   &text->functions.symbolized, &text->value,
					   &text->values);
	if (err < 0)
		return err;
	return hottest_add(&text->hottest, &text->report, stack, &text->functions.symbolized,
			   &text->value, &text->values);
}

static int print_line(const char *what, const char *text, const struct colours *c, FILE *to)
{
	int err;

	fprintf(to, "%s%s:%s ", c->dim, what, c->normal);
	err = plain_print(text, to);
	fputc('\n', to);
	return err;
}

static int print_head(const struct text *text, const struct totals *totals)
{
	const struct report_context *context = &text->report.context;
	const char *other = value_other_event(context);
	const struct colours *c = text->colours;
	FILE *to = text->terminal.to;
	int err;

	fputs(c->bold, to);
	err = plain_print(context->target, to);
	fprintf(to, "%s, ", c->normal);
	if (err == 0)
		err = plain_print(context->event, to);
	if (context->hz)
		fprintf(to, " at %u Hz", context->hz);
	if (other)
		fprintf(to, " and %s", other);
	fprintf(to, ", %.1f s\n", (double)totals->duration_ns / 1e9);
	if (err == 0 && context->command)
		err = print_line("Command", context->command, c, to);
	if (err == 0 && context->host)
		err = print_line("Host", context->host, c, to);
	if (err == 0 && context->kernel)
		err = print_line("Kernel", context->kernel, c, to);
	return err;
}

static void print_outcomes(const struct text *text, const struct totals *totals)
{
	const struct colours *c = text->colours;
	bool good = totals->outcomes[DP_COMPLETE] == totals_with_user_stack(totals);
	FILE *to = text->terminal.to;

	fprintf(to,
		"Samples: %" PRIu64 ", %slost: %" PRIu64 "%s, complete: %" PRIu64 " of %" PRIu64
		" with a user stack (%s%.1f %%%s)\n",
		totals->samples, totals->lost ? c->hot : "", totals->lost,
		totals->lost ? c->normal : "", totals->outcomes[DP_COMPLETE],
		totals_with_user_stack(totals), good ? c->good : c->warm, totals_complete(totals),
		c->normal);
	for (int i = DP_COMPLETE + 1; i < DP_N_OUTCOMES; i++)
		if (totals->outcomes[i] > 0)
			fprintf(to, "  %-18s %8" PRIu64 "  %s\n", outcome_word(i),
				totals->outcomes[i], outcome_sentence(i));
}

/* Of names as well, so this comes last. Sentences about files have names that others choose. */
static int print_failures(const struct text *text)
{
	const char *first[PARSERS_SHOWN_FAILURES];
	struct names *names = text->report.context.names;
	size_t n = names ? failures_look(names_failures(names), first) : 0;
	FILE *to = text->terminal.to;
	int err = 0;

	if (n > 0)
		fprintf(to, "\nFiles that were not read, or not as a whole: %zu\n", n);
	for (size_t i = 0; i < n && i < PARSERS_SHOWN_FAILURES && err == 0; i++) {
		fputs("  ", to);
		err = plain_print(first[i] ? first[i] : "?", to);
		fputc('\n', to);
	}
	return err;
}

/* What a probe has read at each event of a number, from 0. Those that it could not be read at are not zeros. */
static void print_own_sum(const struct text *text, uint64_t sum)
{
	const struct value *value = &text->value;
	FILE *to = text->terminal.to;

	(void)plain_print(value->name, to);
	if (value_is_time(value))
		fprintf(to, ": %.3f ms", (double)sum / 1e6);
	else
		fprintf(to, ": %" PRIu64 " ", sum);
	if (!value_is_time(value))
		(void)plain_print(value_noun(value), to);
}

static void print_own_value(const struct text *text, size_t event, uint64_t sum)
{
	print_own_sum(text, sum);
	fprintf(text->terminal.to, " in %" PRIu64 " events\n", text->n_numbered[event]);
}

/* Prints what the samples stand for, if they are not just counted. */
static void print_scale(const struct text *text, const struct totals *totals)
{
	FILE *to = text->terminal.to;

	/* Of several events, each has its own section and sum. */
	if (totals->events != totals->samples && text->report.context.n_several == 0)
		fprintf(to, "Scaled: the samples stand for %" PRIu64 " events\n", totals->events);
	if (value_is_memory(&text->report.context))
		fprintf(to,
			"Allocated: %" PRIu64 " bytes in %" PRIu64
			" pieces, held at the end: %" PRIu64 " bytes in %" PRIu64 "\n",
			totals->time_ns, totals->events, totals->held_bytes, totals->held);
	if (text->value.is_own)
		print_own_value(text, 0, value_of_totals(&text->value, totals));
	else if (value_is_time(&text->value))
		fprintf(to, "Time: %.3f ms, lost: %.3f ms\n", (double)totals->time_ns / 1e6,
			(double)totals->lost_ns / 1e6);
}

static double percent(uint64_t value, double all)
{
	return all > 0 ? 100 * (double)value / all : 0;
}

static void print_kind(void *arg, const char *line)
{
	fprintf(arg, "  %s\n", line);
}

static int print_verified(const struct report_context *context, const struct verified *verified,
			  FILE *to)
{
	fputs("Verified by libdwfl: ", to);
	verified_print(verified, to);
	fputc('\n', to);
	return verified_for_each_kind(verified, context->symbols, VERIFIED_SHOWN_KINDS, print_kind,
				      to);
}

static int print_functions(const struct text *text, double all)
{
	const struct hot_list *list = &text->functions;
	const struct colours *c = text->colours;
	bool time = value_is_time(&text->value);
	FILE *to = text->terminal.to;
	size_t taken = time ? 33 : 19; /* columns of the values */
	size_t n = 0;
	int err;

	fprintf(to, "\n%s%8s %8s  %s", c->bold, "self", "total", time ? "  total time  " : "");
	err = terminal_put_names(&text->terminal, taken, 50, "function", "binary", "", c->normal);
	for (const struct hot *f = list->functions; err == 0 && f && n < TEXT_TOP;
	     f = f->hh.next, n++) {
		colours_put_share(c, percent(f->self, all), to);
		fprintf(to, " %6.1f %%  ", percent(f->total, all));
		if (time)
			fprintf(to, "%9.3f ms  ", (double)f->total / 1e6);
		err = terminal_put_names(&text->terminal, taken, 50, f->name,
					 hot_list_binary(list, f), c->dim, c->normal);
	}
	if (HASH_COUNT(list->functions) > TEXT_TOP)
		fprintf(to, "... and %u more functions\n", HASH_COUNT(list->functions) - TEXT_TOP);
	return err;
}

/* Counts equal functions from the first on: recursion takes one line. */
static size_t count_same(const struct hottest_function *functions, size_t n)
{
	size_t same = 1;

	while (same < n && functions[same].name == functions[0].name &&
	       functions[same].kind == functions[0].kind)
		same++;
	return same;
}

/* Of a recursion, those of its innermost call that has any. */
static void describe_values(const struct hottest_function *f, size_t times,
			    char buffer[VALUE_TEXTS_SIZE])
{
	buffer[0] = '\0';
	for (size_t i = times; i-- > 0 && buffer[0] == '\0';)
		if (f[i].texts)
			value_texts_describe(f[i].texts, buffer);
}

/* Prints a function that occurs `times` times in a row, and the values of its calls. */
static int print_row(const struct text *text, const struct hottest_function *f, size_t times,
		     double all)
{
	_cleanup_free_ char *name = strdup(f->name);
	const struct colours *c = text->colours;
	FILE *to = text->terminal.to;
	size_t columns = text->terminal.columns > 0 ? text->terminal.columns - ROW_WIDTH : 0;
	char values[VALUE_TEXTS_SIZE];

	if (!name)
		return -ENOMEM;
	text_make_plain(name);
	describe_values(f, times, values);
	if (columns > 0 && *values) {
		terminal_shorten(values, columns / 2);
		columns -= terminal_width(values, strlen(values)) + 2;
	}
	if (columns > 0)
		terminal_shorten(name, columns);
	fprintf(to, "%9s", "");
	colours_put_share(c, percent(f->value, all), to);
	fprintf(to, "  %s", name);
	if (f->is_inlined)
		fprintf(to, "%s (inlined)%s", c->dim, c->normal);
	if (f->is_near)
		fprintf(to, "%s (near)%s", c->dim, c->normal);
	if (f->kind == SYMBOLIZED_KERNEL && strcmp(f->name, REPORT_KERNEL) != 0)
		fprintf(to, "%s (kernel)%s", c->dim, c->normal);
	if (times > 1)
		fprintf(to, "%s (%zu times, down to %.1f %%)%s", c->dim, times,
			percent(f[times - 1].value, all), c->normal);
	if (*values)
		fprintf(to, "  %s%s%s", c->good, values, c->normal);
	fputc('\n', to);
	return 0;
}

/* From root to leaf, each with the share of stacks with this prefix. */
static int print_hottest(struct text *text, double all)
{
	const struct hottest_function *functions;
	const struct colours *c = text->colours;
	uint64_t value;
	size_t n = hottest_find(&text->hottest, &functions, &value), n_rows = 0, row = 0;
	FILE *to = text->terminal.to;
	int err;

	if (n == 0)
		return 0;
	fprintf(to, "\n%sHottest stack%s, ", c->bold, c->normal);
	if (value_is_time(&text->value))
		fprintf(to, "%.3f ms", (double)value / 1e6);
	else
		fprintf(to, "%" PRIu64 " of %.0f", value, all);
	fprintf(to, " (%.1f %%), of ", percent(value, all));
	err = plain_print(functions[0].name, to);
	fputc('\n', to);
	for (size_t i = 1; i < n; i += count_same(&functions[i], n - i))
		n_rows++;
	for (size_t i = 1, same; err == 0 && i < n; i += same, row++) {
		same = count_same(&functions[i], n - i);
		if (n_rows <= TEXT_ROOT + TEXT_LEAF || row < TEXT_ROOT || row >= n_rows - TEXT_LEAF)
			err = print_row(text, &functions[i], same, all);
		else if (row == TEXT_ROOT)
			fprintf(to, "%9s... %zu more\n", "", n_rows - TEXT_ROOT - TEXT_LEAF);
	}
	return err;
}

/* A label, and the share of samples that have it. */
struct label_rows {
	const struct text *text;
	double all;
	bool has_head;
};

static int print_label(void *arg, const struct label_count *count, size_t rest)
{
	struct label_rows *rows = arg;
	const struct colours *c = rows->text->colours;
	FILE *to = rows->text->terminal.to;

	/* Each event has a section. */
	if (rows->text->value.event &&
	    strncmp(count->text, REPORT_EVENT "=", strlen(REPORT_EVENT "=")) == 0)
		return 0;
	if (!rows->has_head)
		fprintf(to, "\n%sBy label%s\n", c->bold, c->normal);
	rows->has_head = true;
	fprintf(to, "%9s", "");
	colours_put_share(c, percent(count->value, rows->all), to);
	fprintf(to, "  %s\n", count->text);
	if (rest > 0)
		fprintf(to, "%9s... and %zu more\n", "", rest);
	return 0;
}

/* The functions, labels and stacks of an event. */
static int print_profile(struct text *text, size_t event, double all)
{
	int err = profile_for_each(text->profile, count_stack, text);

	hot_list_sort(&text->functions);
	if (err == 0)
		err = print_functions(text, all);
	if (err < 0)
		return err;
	if (!text->is_held)
		(void)label_counts_for_each(&text->labels[event], TEXT_KEYS, TEXT_LABELS,
					    print_label, &(struct label_rows){ text, all, false });
	err = print_hottest(text, all);
	if (err == 0 && !text->value.event)
		exceptions_print(&text->exceptions, text->terminal.to);
	return err;
}

static int sum_stack(const struct stack *stack, void *arg)
{
	struct text *text = arg;

	sum_increase(&text->sum, value_of_stack(&text->value, stack));
	return 0;
}

/* The number of the event that the i-th value of several is of: counts, then numbers. */
static size_t event_of(const struct report_context *context, size_t i)
{
	size_t event = 0;

	if (i < context->n_several)
		return i;
	for (i -= context->n_several; event + 1 < context->n_several; event++)
		if (context->several[event].value && i-- == 0)
			break;
	return event;
}

static int print_event_head(struct text *text, size_t event, bool are_memory)
{
	const struct value *value = &text->value;
	const struct colours *c = text->colours;
	FILE *to = text->terminal.to;
	int err;

	fprintf(to, "\n%s", c->bold);
	err = plain_print(are_memory ? value->name : value->event, to);
	fprintf(to, "%s%s", c->normal, value->is_own ? ", " : "");
	if (value->is_own)
		print_own_value(text, event, text->sum);
	else
		fprintf(to, ": %" PRIu64 "%s\n", text->sum, are_memory ? " bytes" : "");
	return err;
}

/* A section for each of several events, or of what was allocated and what is held. */
static int print_events(struct text *text)
{
	const struct report_context *context = &text->report.context;
	bool are_memory = value_is_memory(context);
	struct value values[VALUES_MAX];
	size_t n = values_of(context, values);
	int err = 0;

	text->functions.value = &text->value;
	for (size_t i = 0; err == 0 && i < n; i++) {
		const size_t event = are_memory ? 0 : event_of(context, i);

		if (are_memory && values[i].scale > 0) /* numbers are in the head */
			continue;
		text->value = values[i];
		text->is_memory = are_memory;
		text->is_held = value_is_held(&values[i]);
		text->sum = 0;
		hot_list_done(&text->functions);
		hottest_done(&text->hottest);
		(void)profile_for_each(text->profile, sum_stack, text);
		err = print_event_head(text, event, are_memory);
		if (err == 0 && text->sum > 0)
			err = print_profile(text, event, (double)text->sum);
	}
	return err;
}

/* Further numbers of --value, of which each sample has one. */
static void print_more(struct text *text)
{
	const struct value main = text->value;
	struct value values[VALUES_MAX];
	size_t n = values_of(&text->report.context, values);

	for (size_t i = 0; i < n; i++) {
		if (!values[i].label)
			continue;
		text->value = values[i];
		print_own_sum(text, text->more[i]);
		fputc('\n', text->terminal.to);
	}
	text->value = main;
}

static int write_report(struct text *text, const struct totals *totals)
{
	struct report *report = &text->report;
	double all;
	const char *servers = getenv("DEBUGINFOD_URLS");
	const struct hint_machine machine = {
		.has_debian = access("/etc/debian_version", F_OK) == 0,
		.has_servers = servers && *servers,
	};
	int err;

	all = (double)value_of_totals(&text->value, totals);
	err = print_head(text, totals);
	if (err < 0)
		return err;
	print_outcomes(text, totals);
	print_scale(text, totals);
	print_more(text);
	if (totals->calls)
		err = calls_print(totals, text->colours, text->terminal.to);
	if (err == 0 && totals->verified)
		err = print_verified(&report->context, totals->verified, text->terminal.to);
	if (err < 0)
		return err;
	if (report->context.n_several > 0 || value_is_memory(&report->context))
		err = print_events(text);
	else
		err = print_profile(text, 0, all);
	/* Without names, no lookup has failed. */
	if (report->context.symbols && !names_disabled(report->context.names))
		hints_print(&text->hints, &machine, all, text->terminal.to);
	return err < 0 ? err : print_failures(text);
}

static int text_finish(struct report *report, const struct totals *totals)
{
	struct text *text = (struct text *)report;
	int err, ended;

	text->value = value_measured(&report->context);
	text->colours = colours_for(report->to);
	err = terminal_begin(&text->terminal, report->to, report->context.wide);
	if (err < 0)
		return err;
	err = write_report(text, totals);
	ended = terminal_end(&text->terminal);
	return err < 0 ? err : ended;
}

static void text_free(struct report *report)
{
	struct text *text = (struct text *)report;

	hot_list_done(&text->functions);
	hottest_done(&text->hottest);
	frame_values_done(&text->values);
	exceptions_done(&text->exceptions);
	for (size_t i = 0; i < VALUES_MAX; i++)
		label_counts_done(&text->labels[i]);
	hints_done(&text->hints);
	profile_free(text->profile);
	free(text);
}

int report_text_new(struct report **ret)
{
	struct text *text = calloc(1, sizeof(*text));

	if (!text)
		return -ENOMEM;
	if (profile_new(PROFILE_LABELS, &text->profile) < 0) {
		free(text);
		return -ENOMEM;
	}
	text->report.add = text_add;
	text->report.finish = text_finish;
	text->report.free = text_free;
	text->functions.report = &text->report;
	*ret = &text->report;
	return 0;
}
