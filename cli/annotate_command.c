// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/confined_run.h"
#include "cli/command.h"
#include "cli/listing.h"
#include "cli/name_options.h"
#include "cli/recording_file.h"
#include "log/log.h"
#include "profiler/fetch.h"
#include "profiler/record.h"
#include "symbols/module.h"
#include "symbols/source_file.h"

/* Lines without code are shown between others where they are no more than these. */
#define MAX_GAP 8

/* Of a line, so much is shown: one can be as long as its file. */
#define MAX_TEXT 1000

struct annotate_options {
	const char *function, *file;
	struct recording_names names;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct annotate_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->names;
		return 0;
	case ARGP_KEY_ARG:
		if (o->file)
			argp_error(state,
				   "unexpected argument '%s': it takes a function and a recording",
				   arg);
		*(o->function ? &o->file : &o->function) = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->file)
			argp_error(state, "give a function, as reports name it, and the FILE that "
					  "-o FILE.dwarfprof made");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = { { .argp = &recording_names_argp }, { 0 } };

static const struct argp argp = {
	.parser = parse_option,
	.children = children,
	.args_doc = "FUNCTION FILE",
	.doc = "Show the source lines and the instructions of a function of a recording made with "
	       "-o FILE.dwarfprof, with each one's share of the function's own samples, or time, "
	       "in percent.\v"
	       "Exit codes: 0 done; 1 failed; 2 wrong usage; 5 the function has no samples.",
};

static int add_sample(void *arg, const struct sample *sample, const struct totals *totals)
{
	return annotation_add(arg, sample);
}

/* Names are chosen by others. */
static void print_plain(const char *name)
{
	_cleanup_free_ char *plain = strdup(name);

	if (plain)
		text_make_plain(plain);
	fputs(plain ? plain : "?", stdout);
}

static void print_share(uint64_t value, uint64_t all)
{
	if (value > 0)
		printf("%7.2f ", 100 * (double)value / (double)all);
	else
		printf("%7s ", "");
}

/* What is shown of it. */
static void make_line(char *text)
{
	size_t size = strcspn(text, "\n");

	if (size > MAX_TEXT)
		size = MAX_TEXT;
	/* Not in the middle of a character */
	while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
		size--;
	text[size] = '\0';
	for (char *c = text; *c; c++)
		if (*c == '\t')
			*c = ' ';
	text_make_plain(text);
}

/* The lines of a file up to and with that one, of which only the last are shown. */
static void print_source_line(FILE *source, unsigned int *at, const struct listed_line *line,
			      uint64_t all)
{
	_cleanup_free_ char *text = NULL;
	unsigned int first = *at;
	size_t size = 0;

	if (first > 0 && line->line - first > MAX_GAP)
		printf("%8s   ...\n", "");
	for (; source && *at < line->line && getline(&text, &size, source) > 0; ++*at) {
		make_line(text);
		if (*at + 1 == line->line) {
			print_share(line->value, all);
			printf("%5u  %s\n", line->line, text);
		} else if (first > 0 && line->line - first <= MAX_GAP) {
			printf("%8s%5u  %s\n", "", *at + 1, text);
		}
	}
	if (*at < line->line) {
		print_share(line->value, all);
		printf("%5u\n", line->line);
		*at = line->line;
	}
}

/* NULL if it cannot be read: *ret_lacks says why. */
static FILE *open_source(const struct names *names, const char *path, const char **ret_lacks)
{
	int fd = source_file_open(names, path);
	FILE *source = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !source)
		close(fd);
	*ret_lacks = source ? "" :
		     fd == -ETIMEDOUT || fd == -EBUSY ?
			      " (file system does not answer: lines by number)" :
			      " (not there: lines by number)";
	return source;
}

static void print_source(const struct listing *listing)
{
	_cleanup_fclose_ FILE *source = NULL;
	const struct listed_line *last = NULL;
	const char *lacks;
	unsigned int at = 0;

	for (const struct listed_line *line = listing->lines; line; line = line->hh.next) {
		if (!last || strcmp(last->path, line->path) != 0) {
			if (source)
				fclose(source);
			source = open_source(listing->module->names, line->path, &lacks);
			putchar('\n');
			print_plain(line->path);
			puts(lacks);
			at = 0;
		}
		print_source_line(source, &at, line, listing->value);
		last = line;
	}
}

static void print_instructions(const struct listing *listing)
{
	size_t last = SIZE_MAX;

	putchar('\n');
	print_plain(listing->module->path);
	printf(" from 0x%" PRIx64 " to 0x%" PRIx64 "\n", listing->start, listing->end);
	for (size_t i = 0; i < listing->n; i++) {
		const struct instruction *instruction = &listing->instructions[i];
		const struct listed_line *line =
			instruction->line == SIZE_MAX ? NULL : listing->numbered[instruction->line];
		const char *slash = line ? strrchr(line->path, '/') : NULL;

		if (line && instruction->line != last) {
			printf("%8s", "");
			print_plain(slash ? slash + 1 : line->path);
			printf(":%u\n", line->line);
		}
		last = instruction->line;
		print_share(instruction->value, listing->value);
		printf("%10" PRIx64 "  %s\n", instruction->address, instruction->text);
	}
}

static int print_annotation(struct annotation *annotation)
{
	double all = (double)annotation->all;
	struct annotation_site *site;
	int err = 0;

	print_plain(annotation->function);
	printf(": %.2f %% of all ", 100 * (double)annotation->self / all);
	print_plain(value_is_time(&annotation->value) ? "time" :
		    annotation->value.is_own          ? value_noun(&annotation->value) :
							"samples");
	printf(", with what is inlined into it");
	if (annotation->inlined > 0)
		printf("; not shown: %.2f %% where it is inlined itself",
		       100 * (double)annotation->inlined / all);
	putchar('\n');
	/* There may be several functions of that name, and some of them be shown. */
	for (site = annotation->sites; site && err != -ENOMEM; site = site->hh.next) {
		struct listing listing;
		int made;

		if (site->is_listed)
			continue;
		made = listing_make(annotation, site, &listing);
		if (made == 0) {
			print_source(&listing);
			print_instructions(&listing);
		}
		listing_done(&listing);
		err = made < 0 ? made : err;
	}
	return err;
}

static int explain_nothing(const struct annotation *annotation, const char *path)
{
	const char *name = annotation->function;

	if (annotation->compiled > 0) {
		log_error("%s is compiled while it runs, and its code is in no file", name);
	} else if (annotation->inlined > 0) {
		log_error("%s ran only where it was inlined: annotate the function that it was "
			  "inlined into",
			  name);
	} else {
		log_error(
			"no sample of %s is in '%s' itself: it only calls others, or does not exist",
			path, name);
		log_detail(
			"`dwarfprof report' lists names: give one with a share in the column self");
	}
	return -ENODATA;
}

/* A recording that has been opened. */
static int count(const struct annotate_options *options, const char *function,
		 struct recording_file *recording, struct annotation *annotation)
{
	int err = recording_file_begin(recording);

	*annotation = (struct annotation){ .function = function };
	if (err < 0)
		return err;
	if (recording_reader_context(recording->reader)->n_several > 0) {
		log_error("%s has several events, which annotate does not support", options->file);
		log_detail("try:  a recording with one -e");
		return -EINVAL;
	}
	if (value_is_memory(recording_reader_context(recording->reader))) {
		log_error("%s has memory allocations, which annotate does not support",
			  options->file);
		log_detail("try:  dwarfprof report %s", options->file);
		return -EINVAL;
	}
	annotation->value = value_measured(recording_reader_context(recording->reader));
	return recording_file_run(recording, add_sample, annotation);
}

static bool is_unknown(const struct annotation *annotation)
{
	return annotation->self == 0 && annotation->inlined == 0 && annotation->compiled == 0;
}

/* A name without ` [REASON]`, which reports add to functions that wait. False: there is none. */
static bool cut_reason(char *name)
{
	size_t size = strlen(name);
	char *bracket = strrchr(name, '[');

	if (!bracket || bracket - name < 2 || bracket[-1] != ' ' || name[size - 1] != ']')
		return false;
	bracket[-1] = '\0';
	return true;
}

static int annotate(const struct annotate_options *options, struct names *names,
		    struct recording_file *recording, struct annotation *annotation)
{
	_cleanup_free_ char *name = strdup(options->function);
	int err;

	if (!name)
		return -ENOMEM;
	err = recording_file_open(options->file, &options->names, names, recording);
	if (err == 0)
		err = recording_names_confine(&options->names, names);
	if (err == 0)
		err = count(options, options->function, recording, annotation);
	/* Of a pipe, there is no second look. */
	if (err == 0 && is_unknown(annotation) && strcmp(options->file, "-") != 0 &&
	    cut_reason(name)) {
		recording_file_rewind(recording);
		err = count(options, name, recording, annotation);
	}
	if (err == 0 && annotation->self == 0)
		err = explain_nothing(annotation, recording->path);
	else if (err == 0)
		err = print_annotation(annotation);
	annotation->function = NULL;
	errno = 0;
	if (err == 0 && (fflush(stdout) == EOF || ferror(stdout))) {
		err = errno ? -errno : -EIO;
		log_error("cannot write: %s", strerror(-err));
	}
	return err;
}

static int run(void *arg)
{
	const struct annotate_options *options = arg;
	struct annotation annotation = { 0 };
	struct recording_file recording = { 0 };
	struct names *names = recording_names_apply(&options->names);
	int err;

	if (!names)
		return EXIT_CODE_FAILED;
	err = annotate(options, names, &recording, &annotation);
	fetch_end(names);
	annotation_done(&annotation);
	recording_file_close(&recording);
	names_free(names);
	return err == 0 ? EXIT_CODE_OK : err == -ENODATA ? EXIT_CODE_NO_SAMPLES : EXIT_CODE_FAILED;
}

static int annotate_command(int argc, char **argv)
{
	struct annotate_options options = { 0 };
	struct outputs none = { 0 };

	command_parse(&command_annotate, argc, argv, &options);
	return confined_run(options.names.sandbox, &none, run, &options);
}

const struct command command_annotate = {
	.name = "annotate",
	.summary = "show where in a function time goes, by line and instruction",
	.argp = &argp,
	.run = annotate_command,
};
