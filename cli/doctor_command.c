// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "cli/command.h"
#include "cli/limit_table.h"
#include "cli/output_options.h"
#include "doctor/doctor.h"
#include "formats/json_value.h"
#include "kernel/kernel_types.h"
#include "kernel/refusal.h"
#include "log/log.h"
#include "profiler/record.h"
#include "sandbox/helper.h"
#include "text/terminal.h"

enum {
	OPTION_BTF = 256,
	OPTION_JSON,
	OPTION_LIMITS,
};

static const struct argp_option argp_options[] = {
	{ "btf", OPTION_BTF, "FILE", 0, "file with the kernel's type information", 0 },
	{ "json", OPTION_JSON, NULL, 0, "JSON: an object with all findings, or limits" },
	{ "limits", OPTION_LIMITS, NULL, 0, "instead, the limits, and what happens beyond each" },
	OUTPUT_OPTIONS_WIDE,
	{ 0 },
};

struct doctor_options {
	bool json;
	bool wide;
	bool limits;
	const char *btf;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct doctor_options *o = state->input;

	switch (key) {
	case OPTION_BTF:
		o->btf = arg;
		return 0;
	case 'w':
		o->wide = true;
		return 0;
	case OPTION_JSON:
		o->json = true;
		return 0;
	case OPTION_LIMITS:
		o->limits = true;
		return 0;
	case ARGP_KEY_END:
		if (o->limits && o->btf)
			argp_error(state, "--limits and --btf exclude each other");
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s': this command takes none", arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse_option,
	.doc = "Show what dwarfprof can profile with its present permissions: which capabilities, "
	       "settings and kernel features it needs, which of them it has, and what to type for "
	       "those that are missing.\v"
	       "Exit codes: 0 all processes can be profiled, or with --limits, these are shown; 1 "
	       "something needed for that is missing; 2 wrong usage.",
};

/* Width of the label column of one-line findings. */
static int label_width(const struct doctor *doctor)
{
	size_t width = 0;

	for (size_t i = 0; i < doctor->n; i++) {
		const struct finding *f = &doctor->findings[i];
		size_t n = strlen(f->what) + (f->value ? 1 + strlen(f->value) : 0);

		if (n > width)
			width = n;
	}
	return (int)width;
}

static void print_finding(const struct finding *f, int width, FILE *to)
{
	int n = fprintf(to, "  %s%s%s", f->what, f->value ? " " : "", f->value ? f->value : "");

	fprintf(to, "%*s  %-7s  %s\n", n < width + 2 ? width + 2 - n : 0, "",
		finding_word(f->state), f->need);
	if (f->fix)
		fprintf(to, "    try: %s\n", f->fix);
}

/* Prints the last line: what can be profiled, and what cannot. */
static void summarize(const struct doctor *d, FILE *to)
{
	const struct {
		bool can;
		const char *what;
	} parts[] = {
		{ d->own_processes, "processes of its own user" },
		{ d->all_processes, "all of others" },
		{ d->kernel, "the kernel" },
		{ d->uprobes, "uprobes" },
	};
	int n[2] = { 0 };

	fputs("This process can profile", to);
	if (!d->own_processes) {
		fputs(" nothing.", to);
		return;
	}
	for (int can = 1; can >= 0; can--) {
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
			if (parts[i].can != can)
				continue;
			fprintf(to, "%s %s", n[can]++ ? "," : can ? "" : "; not", parts[i].what);
		}
	}
	fputc('.', to);
}

static int print_text(const struct doctor *d, bool wide)
{
	int width = label_width(d);
	struct terminal terminal;
	int err = terminal_begin(&terminal, stdout, wide);

	if (err < 0)
		return err;

	for (size_t i = 0; i < d->n; i++) {
		const char *group = d->findings[i].group;

		if (i == 0 || strcmp(group, d->findings[i - 1].group) != 0)
			fprintf(terminal.to, "%s%s\n", i ? "\n" : "", group);
		print_finding(&d->findings[i], width, terminal.to);
	}
	fputc('\n', terminal.to);
	summarize(d, terminal.to);
	fputc('\n', terminal.to);
	return terminal_end(&terminal);
}

static json_t *json_text_or_null(const char *text)
{
	return text ? json_text(text) : json_null();
}

static int print_json(const struct doctor *d)
{
	json_t *json = json_object(), *findings = json_array();
	int err;

	for (size_t i = 0; i < d->n; i++) {
		const struct finding *f = &d->findings[i];
		json_t *finding = json_object();

		json_object_set_new(finding, "group", json_string(f->group));
		json_object_set_new(finding, "what", json_text(f->what));
		json_object_set_new(finding, "value", json_text_or_null(f->value));
		json_object_set_new(finding, "state", json_string(finding_word(f->state)));
		json_object_set_new(finding, "needed_for", json_string(f->need));
		json_object_set_new(finding, "try", json_text_or_null(f->fix));
		json_array_append_new(findings, finding);
	}
	json_object_set_new(json, "findings", findings);
	json_object_set_new(json, "own_processes", json_boolean(d->own_processes));
	json_object_set_new(json, "all_processes", json_boolean(d->all_processes));
	json_object_set_new(json, "kernel", json_boolean(d->kernel));
	json_object_set_new(json, "uprobes", json_boolean(d->uprobes));
	err = json_dumpf(json, stdout, JSON_INDENT(1));
	json_decref(json);
	putchar('\n');
	return err < 0 ? -ENOMEM : 0;
}

/* What was printed with the result `err` has been written? 0 or a negative errno. */
static int end_output(int err, const char *what)
{
	errno = 0;
	if (err == 0 && (fflush(stdout) == EOF || ferror(stdout)))
		err = errno ? -errno : -EIO;
	if (err < 0)
		log_error("cannot write the %s: %s", what, strerror(-err));
	return err;
}

static int print_limits(const struct doctor_options *options)
{
	int err = options->json ? limit_table_write_json(stdout) :
				  limit_table_write_text(stdout, options->wide);

	return end_output(err, "limits") < 0 ? EXIT_CODE_FAILED : EXIT_CODE_OK;
}

static int doctor_command(int argc, char **argv)
{
	struct doctor_options options = { 0 };
	struct doctor doctor;
	bool missing = false;
	int err;

	command_parse(&command_doctor, argc, argv, &options);
	if (options.limits)
		return print_limits(&options);
	refusal_listen(NULL);
	if (kernel_types_check(options.btf) < 0)
		return EXIT_CODE_FAILED;
	err = doctor_examine(&doctor, options.btf, HELPER_SELF);
	if (err == 0 && options.json)
		err = print_json(&doctor);
	else if (err == 0)
		err = print_text(&doctor, options.wide);
	for (size_t i = 0; i < doctor.n; i++)
		missing = missing || doctor.findings[i].state == FINDING_MISSING;
	doctor_done(&doctor);
	err = end_output(err, "findings");
	return err < 0 || missing ? EXIT_CODE_FAILED : EXIT_CODE_OK;
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "show what can be profiled here, and what is missing",
	.argp = &argp,
	.run = doctor_command,
};
