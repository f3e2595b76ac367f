// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "log/suggestion.h"
#include "profiler/record.h"

const char *argp_program_version = "dwarfprof " DP_VERSION;
const char *argp_program_bug_address = DP_BUG_REPORT;

const struct command *const commands[] = {
	&command_record,  &command_top,    &command_dump,     &command_agent,   &command_report,
	&command_convert, &command_diff,   &command_annotate, &command_tables,  &command_probes,
	&command_probe,   &command_doctor, &command_help,     &command_version,
};
const size_t n_commands = ARRAY_SIZE(commands);

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < n_commands; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

void command_suggest(struct suggestion *suggestion)
{
	for (size_t i = 0; i < n_commands; i++)
		suggestion_consider(suggestion, commands[i]->name);
}

void command_list_names(FILE *to)
{
	fputs("Commands (`dwarfprof help COMMAND' lists the options of one):\n", to);
	for (size_t i = 0; i < n_commands; i++)
		fprintf(to, "  %-8s  %s\n", commands[i]->name, commands[i]->summary);
}

char *command_add_names(int key, const char *text, void *input)
{
	char *more = NULL;
	size_t size;
	FILE *to;

	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	to = open_memstream(&more, &size);
	if (!to)
		return (char *)text;
	command_list_names(to);
	fprintf(to, "\n%s", text);
	fclose(to);
	return more;
}

void command_list(FILE *to)
{
	fputs("Usage: dwarfprof [record] [OPTION...] -p PID|-t TID|-a|-- CMD [ARG...]\n"
	      "       dwarfprof COMMAND [OPTION...] [ARG...]\n\n"
	      "Find out where programs spend their time.\n\n",
	      to);
	command_list_names(to);
	fputs("\nExamples:\n"
	      "  sudo dwarfprof -- ./program          profile a program from its start\n"
	      "  sudo dwarfprof -p PID -d 30          profile a process for 30 seconds\n"
	      "  sudo dwarfprof -a -d 5 -o flame.svg  draw what the machine is doing\n\n"
	      "`man dwarfprof' explains the options.\n",
	      to);
}

enum {
	OPTION_USAGE = 4096,
};

static const struct argp_option standard_options[] = {
	{ "help", 'h', NULL, 0, "show this list", -1 },
	{ NULL, '?', NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, -1 }, /* argp's own letter */
	{ "usage", OPTION_USAGE, NULL, 0, "show the options in short", -1 },
	{ "version", 'V', NULL, 0, "show the version", -1 },
	{ 0 },
};

static error_t parse_standard(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'h':
	case '?':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case OPTION_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	case 'V':
		puts(argp_program_version);
		exit(EXIT_CODE_OK);
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp command_standard = { .options = standard_options, .parser = parse_standard };

static bool is_last(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc && !o->group;
}

void command_for_each_option(const struct argp *argp,
			     void (*each)(void *arg, const struct argp_option *option), void *arg)
{
	const char *value = NULL;
	int flags = 0;

	for (const struct argp_option *o = argp->options; o && !is_last(o); o++) {
		struct argp_option option = *o;

		if (!(o->flags & OPTION_ALIAS)) {
			value = o->arg;
			flags = o->flags;
		}
		option.arg = value;
		option.flags |= flags & OPTION_ARG_OPTIONAL;
		if (argp->help_filter)
			option.doc = argp->help_filter(o->key, o->doc, NULL);
		if ((o->name || o->key) && !(o->flags & OPTION_HIDDEN))
			each(arg, &option);
		if (option.doc != o->doc)
			free((char *)option.doc);
	}
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		command_for_each_option(child->argp, each, arg);
}

/* What is known of the word that is looked at. */
struct search {
	const char *name; /* of a long option, without -- */
	size_t size;
	int letter; /* of a short one */
	bool known, takes_next;
	struct suggestion suggestion;
};

/* getopt_long(3) accepts the beginning of a name, too. */
static void search_option(void *arg, const struct argp_option *o)
{
	struct search *s = arg;
	bool is_it =
		s->name ? o->name && strncmp(o->name, s->name, s->size) == 0 : o->key == s->letter;

	if (is_it) {
		s->known = true;
		s->takes_next = o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
	} else if (s->name && o->name) {
		suggestion_consider(&s->suggestion, o->name);
	}
}

/* Does the value of a short option, or of the last of several in a word, follow in the next word? */
static bool short_takes_next(const struct argp *argp, const char *word)
{
	for (const char *letter = word + 1; *letter; letter++) {
		struct search search = { .letter = *letter };

		command_for_each_option(argp, search_option, &search);
		if (search.takes_next)
			return letter[1] == '\0';
	}
	return false;
}

/* An option that does not exist. argp would only say so. */
static void fail_with_option(const char *command, const char *given, const char *meant)
{
	fprintf(stderr,
		"%s: there is no option --%s; did you mean --%s?\nTry `%s --help' for more information.\n",
		command, given, meant, command);
	exit(EXIT_CODE_USAGE);
}

static void check_long_options(const struct command *command, const struct argp *argp, int argc,
			       char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		char name[64];
		struct search search = { .name = name, .suggestion = { .given = name } };

		if (strncmp(argv[i], "--", 2) != 0) {
			i += argv[i][0] == '-' && short_takes_next(argp, argv[i]);
			continue;
		}
		search.size = strcspn(argv[i] + 2, "=");
		snprintf(name, sizeof(name), "%.*s", (int)search.size, argv[i] + 2);
		command_for_each_option(argp, search_option, &search);
		if (!search.known && search.suggestion.word)
			fail_with_option(argv[0], name, search.suggestion.word);
		i += search.takes_next && argv[i][2 + search.size] == '\0';
	}
}

static error_t parse_wrapped(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

void command_parse(const struct command *command, int argc, char **argv, void *input)
{
	static char name[32];
	const struct argp_child children[] = { { .argp = command->argp },
					       { .argp = &command_standard },
					       { 0 } };
	const struct argp argp = { .parser = parse_wrapped, .children = children };
	char *given = argv[0];

	snprintf(name, sizeof(name), "dwarfprof %s", command->name);
	if (command == &command_record)
		name[strlen("dwarfprof")] = '\0';
	argv[0] = name; /* messages begin with it */
	argp_err_exit_status = EXIT_CODE_USAGE;
	check_long_options(command, &argp, argc, argv);
	argp_parse(&argp, argc, argv, command->flags | ARGP_NO_HELP, NULL, input);
	argv[0] = given;
}
