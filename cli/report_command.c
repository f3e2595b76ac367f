// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "cli/confined_run.h"
#include "cli/command.h"
#include "cli/name_options.h"
#include "cli/output_options.h"
#include "cli/recording_file.h"
#include "log/log.h"
#include "profiler/fetch.h"
#include "profiler/record.h"

/* Options of both commands, which only differ in their default output. */
struct report_options {
	const char *file;
	struct output_options output;
	struct recording_names names;
	bool converts;
};

enum {
	OPTION_BY = 256,
	OPTION_FORMAT,
};

static const struct argp_option argp_options[] = {
	{ "output", 'o', "FILE", 0, "where to write, repeatable" },
	{ "format", OPTION_FORMAT, "FORMAT", 0, "as for record (by the extension of FILE)" },
	{ "by", OPTION_BY, "KEY", 0, OUTPUT_OPTIONS_BY_HELP },
	OUTPUT_OPTIONS_WIDE,
	{ 0 },
};

static void complete(struct report_options *o, struct argp_state *state)
{
	if (!o->file)
		argp_error(state,
			   "a recording is missing: give the FILE that -o FILE.dwarfprof made");
	if (o->converts && o->output.n == 0)
		argp_error(state, "-o is missing: give a file to write");
	if (!o->converts && o->output.n <= 1 && !o->output.format &&
	    (o->output.n == 0 || strcmp(o->output.requests[0].path, "-") == 0))
		o->output.format = "text";
	output_options_complete(&o->output, state);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct report_options *o = state->input;

	switch (key) {
	case 'o':
		output_options_add(&o->output, state, arg);
		return 0;
	case OPTION_FORMAT:
		o->output.format = arg;
		return 0;
	case 'w':
		o->output.wide = true;
		return 0;
	case OPTION_BY:
		output_options_set_by(&o->output, state, arg);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->names;
		return 0;
	case ARGP_KEY_ARG:
		if (o->file)
			argp_error(state, "unexpected argument '%s': give one recording", arg);
		o->file = arg;
		return 0;
	case ARGP_KEY_END:
		complete(o, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = { { &recording_names_argp }, { 0 } };

#define EXIT_CODES                                                                                                             \
	"\vFILE may be - for the standard input, or a directory with recordings. If a recording is truncated or damaged, the " \
	"part before that is reported, with a warning.\n\n"                                                                    \
	"Exit codes: 0 done; 1 failed; 2 wrong usage; 5 the recording has no samples."

static const struct argp report_argp = {
	.options = argp_options,
	.parser = parse_option,
	.children = children,
	.args_doc = "FILE",
	.doc = "Report a recording made with -o FILE.dwarfprof, or a directory of the agent's, as text or in any other "
	       "format." EXIT_CODES,
};

static const struct argp convert_argp = {
	.options = argp_options,
	.parser = parse_option,
	.children = children,
	.args_doc = "FILE -o OUT",
	.doc = "Write a recording made with -o FILE.dwarfprof in other formats, as if they had been "
	       "requested when it was made." EXIT_CODES,
};

static int add_sample(void *arg, const struct sample *sample, const struct totals *totals)
{
	struct outputs *outputs = arg;
	int err = 0;

	for (size_t i = 0; err == 0 && i < outputs->n; i++)
		err = report_add(outputs->reports[i], sample, totals);
	return err;
}

static int write_reports(struct recording_file *recording, const struct output_options *options,
			 struct outputs *outputs)
{
	int err = outputs_make_reports(outputs, options->requests,
				       recording_reader_context(recording->reader));

	if (err == 0) {
		err = recording_file_check_outputs(recording, outputs);
		if (err == 0)
			err = outputs_begin(outputs);
		if (err < 0)
			return err;
	}
	if (err == 0)
		err = recording_file_run(recording, add_sample, outputs);
	if (err == 0)
		err = outputs_finish(outputs, recording_reader_totals(recording->reader));
	if (err < 0 && !outputs_have_failed(outputs))
		log_error("cannot report %s: %s", recording->path, strerror(-err));
	return err;
}

/* What a process of its own does (confined_run.h). */
struct read_job {
	const struct report_options *options;
	struct outputs *outputs;
};

static int read_recording(const struct report_options *o, struct names *names,
			  struct recording_file *recording, struct outputs *outputs)
{
	int err = recording_file_open(o->file, &o->names, names, recording);

	if (err == 0)
		err = recording_names_confine(&o->names, names);
	if (err == 0)
		err = recording_file_begin(recording);
	return err < 0 ? err : write_reports(recording, &o->output, outputs);
}

static int run_job(void *arg)
{
	const struct read_job *job = arg;
	struct names *names = recording_names_apply(&job->options->names);
	struct recording_file recording = { 0 };
	int code = EXIT_CODE_FAILED, err = -ECANCELED;

	if (names)
		err = read_recording(job->options, names, &recording, job->outputs);
	if (err == 0)
		code = recording_reader_totals(recording.reader)->samples == 0 ?
			       EXIT_CODE_NO_SAMPLES :
			       EXIT_CODE_OK;
	if (names)
		fetch_end(names);
	err = outputs_close(job->outputs, err);
	outputs_free_reports(job->outputs);
	recording_file_close(&recording);
	names_free(names);
	return err < 0 ? EXIT_CODE_FAILED : code;
}

static int run(const struct report_options *o)
{
	struct outputs outputs;
	struct read_job job = { o, &outputs };
	int code = EXIT_CODE_FAILED;

	if (recording_file_check(o->file, &o->names) < 0)
		return code;
	if (outputs_open(&outputs, o->output.requests, o->output.n, 0, -1) == 0)
		code = confined_run(o->names.sandbox, &outputs, run_job, &job);
	else
		(void)outputs_close(&outputs, 0);
	outputs_done(&outputs);
	return code;
}

static int parse_and_run(const struct command *command, bool converts, int argc, char **argv)
{
	struct report_options options = { .converts = converts };
	int code;

	command_parse(command, argc, argv, &options);
	code = run(&options);
	output_options_done(&options.output);
	return code;
}

static int report_command(int argc, char **argv)
{
	return parse_and_run(&command_report, false, argc, argv);
}

static int convert_command(int argc, char **argv)
{
	return parse_and_run(&command_convert, true, argc, argv);
}

const struct command command_report = {
	.name = "report",
	.summary = "report what was recorded with -o FILE.dwarfprof",
	.argp = &report_argp,
	.run = report_command,
};

const struct command command_convert = {
	.name = "convert",
	.summary = "write a recording in other formats",
	.argp = &convert_argp,
	.run = convert_command,
};
