// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/confined_run.h"
#include "cli/command.h"
#include "cli/diff_form.h"
#include "cli/name_options.h"
#include "cli/output_options.h"
#include "cli/recording_file.h"
#include "formats/report_format.h"
#include "log/log.h"
#include "profiler/fetch.h"
#include "profiler/record.h"
#include "report/value.h"

enum {
	OPTION_FORMAT = 256,
};

static const struct argp_option argp_options[] = {
	{ "output", 'o', "FILE", 0, "where to write (the standard output)" },
	{ "format", OPTION_FORMAT, "FORMAT", 0,
	  "text; json, all functions for machines; folded, lines of `stack COUNT-A COUNT-B'; svg, a "
	  "differential flame graph; html, a page with it and the functions (by the extension of "
	  "FILE, else text)" },
	{ "top", 'n', "N", 0, "number of functions in text and html (20)" },
	OUTPUT_OPTIONS_WIDE,
	{ 0 },
};

struct diff_options {
	const char *files[REPORT_SIDES];
	size_t n_files;
	size_t top;
	bool wide;
	struct output_request output;
	const struct diff_form *form; /* NULL: not given */
	struct recording_names names;
};

static void choose_form(struct diff_options *o, const struct argp_state *state, const char *name)
{
	o->form = diff_form_by_name(name);
	if (!o->form)
		output_options_fail_format(state, name, false, diff_form_list);
}

static void complete(struct diff_options *o, struct argp_state *state)
{
	const char *path = o->output.path;

	if (o->n_files < REPORT_SIDES)
		argp_error(state, "a recording is missing: give two, A and B");
	if (!o->form && path && strcmp(path, "-") != 0) {
		o->form = diff_form_by_path(path);
		if (!o->form)
			output_options_fail_format(state, path, true, diff_form_list);
	}
	if (!o->form)
		o->form = &diff_form_text;
	o->output.format = &o->form->format;
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
	case 'o':
		if (o->output.path)
			argp_error(state, "give -o once");
		o->output.path = arg;
		return 0;
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
		if (o->n_files == REPORT_SIDES)
			argp_error(state, "unexpected argument '%s': give two recordings", arg);
		o->files[o->n_files++] = arg;
		return 0;
	case ARGP_KEY_END:
		complete(o, state);
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

/* What reads a recording, and what is read into: a report for each thing that a form may need. */
struct reading {
	struct report *reports[3];
	size_t n;
	FILE *folded; /* in memory */
	size_t folded_size;
};

static int add_sample(void *arg, const struct sample *sample, const struct totals *totals)
{
	struct reading *reading = arg;
	int err = 0;

	for (size_t i = 0; err == 0 && i < reading->n; i++)
		err = report_add(reading->reports[i], sample, totals);
	return err;
}

static int begin_reading(struct reading *r, unsigned int needs, struct diff *diff, size_t side)
{
	const struct report_context *context = diff->sides[side].context;
	int err = 0;

	if (needs & DIFF_FUNCTIONS)
		err = report_functions_new(&diff->functions, side, context, &r->reports[r->n]);
	if (err == 0 && needs & DIFF_FUNCTIONS)
		r->n++;
	if (err == 0 && needs & DIFF_GRAPH)
		err = report_flame_graph_new(&diff->graph, side, context, &r->reports[r->n]);
	if (err == 0 && needs & DIFF_GRAPH)
		r->n++;
	if (err < 0 || !(needs & DIFF_FOLDED))
		return err;
	r->folded = open_memstream(&diff->folded[side], &r->folded_size);
	if (!r->folded)
		return -errno;
	err = report_new(report_format_by_name("folded"), context, r->folded, &r->reports[r->n]);
	r->n += err == 0;
	return err;
}

static int end_reading(struct reading *r, const struct totals *totals, int err)
{
	for (size_t i = 0; i < r->n; i++) {
		if (err == 0)
			err = r->reports[i]->finish(r->reports[i], totals);
		report_free(r->reports[i]);
	}
	if (r->folded && fclose(r->folded) != 0 && err == 0)
		err = -ENOMEM;
	return err;
}

static int begin_side(const struct diff_options *o, struct recording_file *recording, size_t i,
		      struct diff *diff)
{
	int err = recording_file_begin(recording);

	if (err < 0)
		return err;
	diff->sides[i] = (struct diff_side){
		.path = o->files[i],
		.context = recording_reader_context(recording->reader),
		.totals = recording_reader_totals(recording->reader),
	};
	return 0;
}

/* If one is a directory whose recordings can only be added up by time, so is the other. */
static void count_alike(struct recording_file *recordings, const struct diff *diff)
{
	for (size_t i = 0; i < REPORT_SIDES; i++)
		if (diff->sides[!i].context->timed)
			recording_reader_count_time(recordings[i].reader);
}

static int read_side(const struct diff_options *o, struct recording_file *recording, size_t i,
		     struct diff *diff)
{
	struct reading reading = { 0 };
	int err = begin_reading(&reading, o->form->needs, diff, i);

	if (err == 0)
		err = recording_file_run(recording, add_sample, &reading);
	err = end_reading(&reading, diff->sides[i].totals, err);
	if (err < 0) {
		log_error("cannot compare %s: %s", o->files[i], strerror(-err));
		return err;
	}
	if (diff->sides[i].context->n_several > 0) {
		log_error("%s has several events, which diff does not support", o->files[i]);
		log_detail("try:  recordings with one -e each");
		return -EINVAL;
	}
	if (value_is_memory(diff->sides[i].context)) {
		log_error("%s has memory allocations, which diff does not support", o->files[i]);
		log_detail("try:  dwarfprof report %s", o->files[i]);
		return -EINVAL;
	}
	if (diff->sides[i].totals->samples == 0) {
		log_error("%s has no samples", o->files[i]);
		return -ENODATA;
	}
	return 0;
}

/* The name of what its samples have beside their count. */
static const char *own_value(const struct report_context *context)
{
	return context->value ? context->value : "";
}

/* A time cannot be compared with a number of events. */
static int check_sides(const struct diff *diff)
{
	const struct report_context *a = diff->sides[0].context, *b = diff->sides[1].context;
	const struct value of_a = value_measured(a), of_b = value_measured(b);
	size_t timed = value_is_time(&of_b);

	if (strcmp(own_value(a), own_value(b)) != 0) {
		log_error("A has values '%s', B '%s': there is nothing to compare", own_value(a),
			  own_value(b));
		return -EINVAL;
	}
	if (a->value && strcmp(of_a.unit, of_b.unit) != 0) {
		log_error("A has %s in %s, B in %s: there is nothing to compare", a->value,
			  of_a.unit, of_b.unit);
		return -EINVAL;
	}
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

static int write_differences(const struct diff_options *o, struct diff *diff,
			     struct outputs *outputs)
{
	FILE *to = outputs->files[0].file;
	int err = sort_rows(diff);

	if (err == 0)
		err = outputs_begin(outputs);
	if (err == 0)
		err = o->form->print(diff, to);
	if (err == 0)
		err = report_write_error(to);
	if (err < 0 && !outputs_have_failed(outputs))
		log_error("cannot write the differences: %s", strerror(-err));
	return err;
}

static int compare(const struct diff_options *o, struct names *names,
		   struct recording_file *recordings, struct diff *diff, struct outputs *outputs)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < REPORT_SIDES; i++)
		err = recording_file_open(o->files[i], &o->names, names, &recordings[i]);
	if (err == 0)
		err = recording_names_confine(&o->names, names);
	for (size_t i = 0; err == 0 && i < REPORT_SIDES; i++)
		err = begin_side(o, &recordings[i], i, diff);
	if (err == 0)
		count_alike(recordings, diff);
	for (size_t i = 0; err == 0 && i < REPORT_SIDES; i++)
		err = read_side(o, &recordings[i], i, diff);
	if (err == 0)
		err = check_sides(diff);
	for (size_t i = 0; err == 0 && i < REPORT_SIDES; i++)
		err = recording_file_check_outputs(&recordings[i], outputs);
	return err < 0 ? err : write_differences(o, diff, outputs);
}

/* What a process of its own does (confined_run.h). */
struct read_job {
	const struct diff_options *options;
	struct outputs *outputs;
};

static int run_job(void *arg)
{
	const struct read_job *job = arg;
	const struct diff_options *o = job->options;
	struct names *names = recording_names_apply(&o->names);
	struct recording_file recordings[REPORT_SIDES] = { 0 };
	struct diff diff = { .top = o->top, .wide = o->wide };
	int err = names ? compare(o, names, recordings, &diff, job->outputs) : -ECANCELED;

	if (names)
		fetch_end(names);
	err = outputs_close(job->outputs, err);
	free(diff.rows);
	function_counts_done(&diff.functions);
	flame_graph_done(&diff.graph);
	for (size_t i = 0; i < REPORT_SIDES; i++) {
		free(diff.folded[i]);
		recording_file_close(&recordings[i]);
	}
	names_free(names);
	return err == 0 ? EXIT_CODE_OK : err == -ENODATA ? EXIT_CODE_NO_SAMPLES : EXIT_CODE_FAILED;
}

static int check_files(const struct diff_options *o)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < REPORT_SIDES; i++)
		err = recording_file_check(o->files[i], &o->names);
	return err;
}

static int diff_command(int argc, char **argv)
{
	struct diff_options options = { .top = 20 };
	struct outputs outputs;
	struct read_job job = { &options, &outputs };
	int code = EXIT_CODE_FAILED;

	command_parse(&command_diff, argc, argv, &options);
	if (check_files(&options) < 0)
		return code;
	if (outputs_open(&outputs, &options.output, 1, 0, -1) == 0)
		code = confined_run(options.names.sandbox, &outputs, run_job, &job);
	else
		(void)outputs_close(&outputs, 0);
	if (code == EXIT_CODE_OK)
		outputs_tell(&outputs, &options.output);
	outputs_done(&outputs);
	return code;
}

const struct command command_diff = {
	.name = "diff",
	.summary = "compare two recordings, function by function",
	.argp = &argp,
	.run = diff_command,
};
