// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/command.h"
#include "cli/diff_form.h"
#include "cli/name_options.h"
#include "cli/output_options.h"
#include "cli/recording_file.h"
#include "log/log.h"
#include "profiler/fetch.h"
#include "profiler/record.h"
#include "report/value.h"

enum {
	OPTION_FORMAT = 256,
};

static const struct argp_option argp_options[] = {
	{ "format", OPTION_FORMAT, "FORMAT", 0,
	  "text; json, all functions for machines; folded, lines of `stack COUNT-A COUNT-B' for "
	  "differential flame graphs (text)" },
	{ "top", 'n', "N", 0, "number of functions in text (20)" },
	OUTPUT_OPTIONS_WIDE,
	{ 0 },
};

struct diff_options {
	const char *files[FUNCTION_COUNTS_SIDES];
	size_t n_files;
	size_t top;
	bool wide;
	bool folds; /* compares stacks instead of functions */
	int (*print)(const struct diff *diff);
	struct recording_names names;
};

static const struct {
	const char *name;
	int (*print)(const struct diff *diff);
} forms[] = { { "text", diff_print_text },
	      { "json", diff_print_json },
	      { "folded", diff_print_folded } };

void diff_form_list(FILE *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		fprintf(to, "%s%s", i ? ", " : "", forms[i].name);
}

static void choose_form(struct diff_options *o, struct argp_state *state, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (strcmp(forms[i].name, name) == 0) {
			o->print = forms[i].print;
			o->folds = o->print == diff_print_folded;
			return;
		}
	}
	argp_error(state, "--format takes text, json or folded, not '%s'", name);
}

static void parse_top(struct diff_options *o, struct argp_state *state, const char *text)
{
	char *end;

	errno = 0;
	o->top = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno || o->top == 0)
		argp_error(state, "--top takes a whole number from 1 on, not '%s'", text);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct diff_options *o = state->input;

	switch (key) {
	case OPTION_FORMAT:
		choose_form(o, state, arg);
		return 0;
	case 'w':
		o->wide = true;
		return 0;
	case 'n':
		parse_top(o, state, arg);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->names;
		return 0;
	case ARGP_KEY_ARG:
		if (o->n_files == FUNCTION_COUNTS_SIDES)
			argp_error(state, "unexpected argument '%s': give two recordings", arg);
		o->files[o->n_files++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (o->n_files < FUNCTION_COUNTS_SIDES)
			argp_error(state, "a recording is missing: give two, A and B");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = { { .argp = &recording_names_argp }, { 0 } };

static const struct argp argp = {
	.options = argp_options,
	.parser = parse_option,
	.children = children,
	.args_doc = "FILE-A FILE-B",
	.doc = "Compare two recordings made with -o FILE.dwarfprof: each function's share of all "
	       "samples, or of all time, in A and in B, in percent, alone and with what it calls, "
	       "and the change in percentage points. The largest changes come first.\v"
	       "Exit codes: 0 done; 1 failed; 2 wrong usage; 5 a recording has no samples.",
};

static int add_sample(void *arg, const struct sample *sample, const struct totals *totals)
{
	return report_add(arg, sample, totals);
}

/* Reads a recording's stacks as folded lines into memory. */
static int fold(struct recording_file *recording, char **ret)
{
	const struct report_context *context = recording_reader_context(recording->reader);
	struct report *report = NULL;
	size_t size;
	FILE *to = open_memstream(ret, &size);
	int err;

	if (!to)
		return -errno;
	err = report_new(report_format_by_name("folded"), context, to, &report);
	if (err == 0)
		err = recording_file_run(recording, add_sample, report);
	if (err == 0)
		err = report_finish(report, recording_reader_totals(recording->reader));
	report_free(report);
	if (fclose(to) != 0 && err == 0)
		err = -ENOMEM;
	return err;
}

static int count(struct recording_file *recording, struct function_counts *functions, size_t side)
{
	const struct report_context *context = recording_reader_context(recording->reader);
	struct report *report = NULL;
	int err = report_functions_new(functions, side, context, &report);

	if (err == 0)
		err = recording_file_run(recording, add_sample, report);
	if (err == 0)
		err = report->finish(report, recording_reader_totals(recording->reader));
	report_free(report);
	return err;
}

static int read_side(const struct diff_options *o, struct names *names,
		     struct recording_file *recording, size_t i, struct diff *diff)
{
	int err = recording_file_open(o->files[i], &o->names, names, recording);

	if (err < 0)
		return err;
	diff->sides[i] = (struct diff_side){
		.path = o->files[i],
		.context = recording_reader_context(recording->reader),
		.totals = recording_reader_totals(recording->reader),
	};
	err = o->folds ? fold(recording, &diff->folded[i]) : count(recording, &diff->functions, i);
	if (err < 0) {
		log_error("cannot compare %s: %s", o->files[i], strerror(-err));
		return err;
	}
	if (diff->sides[i].context->n_several > 0) {
		log_error("%s has several events, which diff does not add up", o->files[i]);
		log_detail("try:  recordings with one -e each");
		return -EINVAL;
	}
	if (diff->sides[i].totals->samples == 0) {
		log_error("%s has no samples", o->files[i]);
		return -ENODATA;
	}
	return 0;
}

/* A time cannot be compared with a number of events. */
static int check_sides(const struct diff *diff)
{
	const struct report_context *a = diff->sides[0].context, *b = diff->sides[1].context;
	const struct value of_a = value_measured(a), of_b = value_measured(b);
	size_t timed = value_is_time(&of_b);

	if (value_is_time(&of_a) == timed) {
		if (strcmp(a->event, b->event) != 0)
			log_warning("A is of %s, B of %s", a->event, b->event);
		return 0;
	}
	log_error("%s measures time, and %s counts events: there is nothing to compare",
		  diff->sides[timed].path, diff->sides[!timed].path);
	return -EINVAL;
}

static int row_compare(const void *left, const void *right, void *arg)
{
	const struct function_row *a = *(const struct function_row *const *)left;
	const struct function_row *b = *(const struct function_row *const *)right;
	double x = fabs(diff_change(arg, a->self)), y = fabs(diff_change(arg, b->self));

	if (x == y) {
		x = fabs(diff_change(arg, a->total));
		y = fabs(diff_change(arg, b->total));
	}
	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(a->name, b->name) ? strcmp(a->name, b->name) : strcmp(a->binary, b->binary);
}

static int sort_rows(struct diff *diff)
{
	diff->rows = calloc(HASH_COUNT(diff->functions.rows) + 1, sizeof(struct function_row *));
	if (!diff->rows)
		return -ENOMEM;
	for (struct function_row *f = diff->functions.rows; f; f = f->hh.next)
		diff->rows[diff->n_rows++] = f;
	qsort_r(diff->rows, diff->n_rows, sizeof(struct function_row *), row_compare, diff);
	return 0;
}

static int print(const struct diff_options *o, struct diff *diff)
{
	int err = sort_rows(diff);

	if (err == 0)
		err = o->print(diff);
	errno = 0;
	if (err == 0 && (fflush(stdout) == EOF || ferror(stdout)))
		err = errno ? -errno : -EIO;
	if (err < 0)
		log_error("cannot write the differences: %s", strerror(-err));
	return err;
}

static int run(const struct diff_options *o)
{
	struct names *names = recording_names_apply(&o->names);
	struct recording_file recordings[FUNCTION_COUNTS_SIDES] = { 0 };
	struct diff diff = { .top = o->top, .wide = o->wide };
	int err = 0;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < FUNCTION_COUNTS_SIDES; i++)
		err = read_side(o, names, &recordings[i], i, &diff);
	if (err == 0)
		err = check_sides(&diff);
	if (err == 0)
		err = print(o, &diff);
	fetch_end(names);
	free(diff.rows);
	function_counts_done(&diff.functions);
	for (size_t i = 0; i < FUNCTION_COUNTS_SIDES; i++) {
		free(diff.folded[i]);
		recording_file_close(&recordings[i]);
	}
	names_free(names);
	return err;
}

static int diff_command(int argc, char **argv)
{
	struct diff_options options = { .top = 20, .print = diff_print_text };
	int err;

	command_parse(&command_diff, argc, argv, &options);
	err = run(&options);
	return err == 0 ? EXIT_CODE_OK : err == -ENODATA ? EXIT_CODE_NO_SAMPLES : EXIT_CODE_FAILED;
}

const struct command command_diff = {
	.name = "diff",
	.summary = "compare two recordings, function by function",
	.argp = &argp,
	.run = diff_command,
};
