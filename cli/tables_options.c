// SPDX-License-Identifier: Apache-2.0
#include "cli/tables_options.h"

#include "cli/command.h"
#include "cli/sandbox_options.h"
#include "cli/tables_form.h"

enum {
	OPTION_JSON = 256,
	OPTION_ROWS,
	OPTION_REGS,
	OPTION_SANDBOX,
};

static const struct argp_option argp_options[] = {
	{ "json", OPTION_JSON, NULL, 0, "JSON: an array with an object per file" },
	{ "rows", OPTION_ROWS, NULL, 0,
	  "the rows that the kernel would apply: START END CFA ra=RULE fp=RULE" },
	{ "regs", OPTION_REGS, NULL, 0, "with --rows: also show the other callee-saved registers" },
	{ "sandbox", OPTION_SANDBOX, "MODE", 0, SANDBOX_OPTIONS_HELP },
	{ "verbose", 'v', NULL, 0, "print details" },
	{ 0 },
};

static void choose_form(struct tables_options *o, struct argp_state *state,
			const struct tables_form *form)
{
	if (o->form != &tables_text && o->form != form)
		argp_error(state, "--json and --rows exclude each other");
	o->form = form;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct tables_options *o = state->input;

	switch (key) {
	case OPTION_JSON:
		choose_form(o, state, &tables_json);
		return 0;
	case OPTION_ROWS:
		choose_form(o, state, &tables_rows);
		return 0;
	case OPTION_REGS:
		o->regs = true;
		return 0;
	case OPTION_SANDBOX:
		if (sandbox_options_parse(arg, &o->sandbox) < 0)
			argp_error(state, SANDBOX_OPTIONS_ERROR, arg);
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case ARGP_KEY_ARGS:
		o->files = state->argv + state->next;
		o->n_files = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_END:
		if (o->n_files == 0)
			argp_error(state, "nothing to show: give a FILE or a directory");
		if (o->regs && o->form != &tables_rows)
			argp_error(state, "--regs needs --rows");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp tables_options_argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "FILE...",
	.doc = "Show the unwind tables that dwarfprof makes of programs and libraries: their "
	       "size, how much of the code they cover, and what they cannot express. "
	       "Directories are searched for such files.\v"
	       "Exit codes: 0 done; 1 a file could not be read; 2 wrong usage.",
};

void tables_options_parse(struct tables_options *ret, int argc, char **argv)
{
	*ret = (struct tables_options){ .form = &tables_text };
	command_parse(&command_tables, argc, argv, ret);
}
