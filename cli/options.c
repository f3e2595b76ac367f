// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "report.h"

const char *argp_program_version = "dwarfprof " DP_VERSION;

enum {
	OPTION_FORMAT = 256,
	OPTION_MAX_STACK,
	OPTION_NO_CACHE,
	OPTION_NO_SYMBOLS,
	OPTION_TABLE_MEMORY,
	OPTION_UNWIND,
};

static const struct argp_option argp_options[] = {
	{ .doc = "What to profile (exactly one of these, or a command after --)", .group = 1 },
	{ "pid", 'p', "PID[,PID...]", 0,
	  "these processes, with their threads and all their children", 1 },
	{ "all", 'a', NULL, 0, "all processes that run when sampling starts", 1 },

	{ .doc = "When to take a sample", .group = 2 },
	{ "duration", 'd', "TIME", 0, "for how long: 30, 30s, 500ms, 5m (until Ctrl-C)", 2 },
	{ "freq", 'F', "HZ", 0, "how often per second and CPU (99)", 2 },
	{ "event", 'e', "EVENT", 0,
	  "instead of CPU time: uprobe:PATH:SYMBOL, each call of that function", 2 },

	{ .doc = "How to walk stacks", .group = 3 },
	{ "unwind", OPTION_UNWIND, "MODE", 0,
	  "auto: unwind tables, and frame pointers where code has none; "
	  "dwarf: tables only; fp: frame pointers only (auto)",
	  3 },
	{ "max-stack", OPTION_MAX_STACK, "N", 0, "frames of a stack at most, up to 2048 (1024)",
	  3 },
	{ "table-memory", OPTION_TABLE_MEMORY, "SIZE", 0,
	  "memory for tables at most: 64M, 1G (a sixteenth of the machine's, at least 64M)", 3 },
	{ "no-cache", OPTION_NO_CACHE, NULL, 0,
	  "make all tables anew, and keep none on disk for the next time", 3 },

	{ .doc = "What to write", .group = 4 },
	{ "output", 'o', "FILE", 0, "where to (stdout: a report on a terminal, else folded stacks)",
	  4 },
	{ "format", OPTION_FORMAT, "FORMAT", 0, "folded, jsonl or text (by the extension of FILE)",
	  4 },
	{ "no-symbols", OPTION_NO_SYMBOLS, NULL, 0, "addresses only, no names", 4 },
	{ "verbose", 'v', NULL, 0, "say what is going on", 4 },
	{ 0 },
};

/* State of a parse: what was given, and what only makes sense at the end. */
struct parse {
	struct options *options;
	const char *format;
};

int options_parse_duration(const char *text, uint64_t *ret)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "m", 60e9 }, { "h", 3600e9 } };
	char *end;
	double value;

	/* strtod() also takes "inf", "nan" and hexadecimal. */
	if (strspn(text, "0123456789.") == 0)
		return -EINVAL;
	value = strtod(text, &end);
	if (end != text + strspn(text, "0123456789."))
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		double ns = value * units[i].ns;

		if (strcmp(end, units[i].suffix) != 0)
			continue;
		if (ns < 1 || ns > 1e18)
			return -EINVAL;
		*ret = (uint64_t)ns;
		return 0;
	}
	return -EINVAL;
}

int options_parse_size(const char *text, uint64_t *ret)
{
	static const char suffixes[] = "KMG";
	unsigned long long value;
	const char *suffix;
	int shift = 0;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || errno)
		return -EINVAL;
	if (*end != '\0') {
		suffix = strchr(suffixes, toupper(*end));
		if (!suffix || end[1] != '\0')
			return -EINVAL;
		shift = 10 * (int)(suffix - suffixes + 1);
	}
	if (value > UINT64_MAX >> shift)
		return -EINVAL;
	*ret = (uint64_t)value << shift;
	return 0;
}

static void parse_table_memory(struct options *o, struct argp_state *state, const char *text)
{
	uint64_t size;

	if (options_parse_size(text, &size) < 0)
		argp_error(state, "--table-memory takes a size such as 64M or 1G, not '%s'", text);
	if (size < MIN_TABLE_MEMORY || size > MAX_TABLE_MEMORY)
		argp_error(state, "--table-memory takes from %luM to %luG, not '%s'",
			   (unsigned long)(MIN_TABLE_MEMORY >> 20),
			   (unsigned long)(MAX_TABLE_MEMORY >> 30), text);
	o->record.table_memory = size;
}

/* A whole number from min to max, or the end of the program. */
static unsigned long parse_number(struct argp_state *state, const char *what, const char *text,
				  unsigned long min, unsigned long max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno || value < min || value > max)
		argp_error(state, "%s takes a whole number from %lu to %lu, not '%s'", what, min,
			   max, text);
	return value;
}

static void parse_pids(struct options *o, struct argp_state *state, char *text)
{
	char *save, *word;

	for (word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		size_t n = o->record.n_pids;
		pid_t *pids = reallocarray(o->pids, n + 1, sizeof(*pids));

		if (!pids)
			argp_failure(state, EXIT_CODE_FAILED, ENOMEM, "-p");
		o->pids = pids;
		pids[n] = (pid_t)parse_number(state, "-p", word, 1, INT32_MAX);
		o->record.n_pids++;
	}
	if (o->record.n_pids == 0)
		argp_error(state, "-p takes process numbers, separated by commas");
	o->record.pids = o->pids;
}

static void parse_event(struct options *o, struct argp_state *state, const char *text)
{
	static const char prefix[] = "uprobe:";
	char *colon;

	if (strncmp(text, prefix, strlen(prefix)) != 0)
		argp_error(state, "-e takes uprobe:PATH:SYMBOL, not '%s'", text);
	free(o->uprobe);
	o->uprobe = strdup(text + strlen(prefix));
	if (!o->uprobe)
		argp_failure(state, EXIT_CODE_FAILED, ENOMEM, "-e");
	colon = strrchr(o->uprobe, ':');
	if (!colon || colon == o->uprobe || colon[1] == '\0')
		argp_error(state, "-e takes uprobe:PATH:SYMBOL, not '%s'", text);
	*colon = '\0';
	if (strchr(o->uprobe, '/') && access(o->uprobe, R_OK) < 0)
		argp_failure(state, EXIT_CODE_FAILED, errno, "cannot read %s", o->uprobe);
	o->record.uprobe_path = o->uprobe;
	o->record.uprobe_symbol = colon + 1;
}

static void parse_unwind(struct options *o, struct argp_state *state, const char *text)
{
	static const char *const modes[] = {
		[DP_UNWIND_AUTO] = "auto",
		[DP_UNWIND_DWARF] = "dwarf",
		[DP_UNWIND_FP] = "fp",
	};

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(text, modes[i]) == 0) {
			o->record.unwind = (enum dp_unwind)i;
			return;
		}
	}
	argp_error(state, "--unwind takes auto, dwarf or fp, not '%s'", text);
}

/* The format: named, or by the file's extension, or what suits stdout. */
static void choose_format(struct parse *p, struct argp_state *state)
{
	struct record_options *r = &p->options->record;
	const char *name = p->format;

	if (!name && r->output && strcmp(r->output, "-") != 0) {
		r->format = report_format_by_path(r->output);
		if (!r->format) {
			fprintf(stderr,
				"%s: the extension of '%s' stands for no format; known are ",
				state->name, r->output);
			report_format_list(stderr);
			fputs("\nor name one with --format\n", stderr);
			exit(EXIT_CODE_USAGE);
		}
		return;
	}
	if (!name)
		name = !r->output && isatty(STDOUT_FILENO) ? "text" : "folded";
	r->format = report_format_by_name(name);
	if (!r->format) {
		fprintf(stderr, "%s: there is no format '%s'; known are ", state->name, name);
		report_format_list(stderr);
		fputc('\n', stderr);
		exit(EXIT_CODE_USAGE);
	}
}

static void parse_argument(struct parse *p, struct argp_state *state, char *arg)
{
	if (state->quoted && state->next > state->quoted) {
		p->options->record.command = state->argv + state->quoted;
		state->next = state->argc; /* the rest is the command's */
	} else if (state->arg_num > 0 || strcmp(arg, "record") != 0) {
		argp_error(state, "what is '%s'? A command to profile follows after --", arg);
	}
}

static void parse_end(struct parse *p, struct argp_state *state)
{
	const struct record_options *r = &p->options->record;
	int kinds = (r->n_pids > 0) + r->all + (r->command != NULL);

	if (kinds == 0)
		argp_error(state, "nothing to profile: give -p PID, -a, or -- CMD");
	if (kinds > 1)
		argp_error(state, "-p, -a and -- CMD exclude each other");
	if (state->quoted && !r->command)
		argp_error(state, "a command is missing after --");
	choose_format(p, state);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parse *p = state->input;
	struct options *o = p->options;

	switch (key) {
	case 'p':
		parse_pids(o, state, arg);
		return 0;
	case 'a':
		o->record.all = true;
		return 0;
	case 'd':
		if (options_parse_duration(arg, &o->record.duration_ns) < 0)
			argp_error(state, "-d takes a time such as 30, 30s, 500ms or 5m, not '%s'",
				   arg);
		return 0;
	case 'F':
		o->record.hz = (unsigned int)parse_number(state, "-F", arg, 1, 1000000);
		return 0;
	case 'e':
		parse_event(o, state, arg);
		return 0;
	case 'o':
		o->record.output = arg;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case OPTION_UNWIND:
		parse_unwind(o, state, arg);
		return 0;
	case OPTION_MAX_STACK:
		o->record.max_frames =
			(unsigned int)parse_number(state, "--max-stack", arg, 1, DP_MAX_FRAMES);
		return 0;
	case OPTION_TABLE_MEMORY:
		parse_table_memory(o, state, arg);
		return 0;
	case OPTION_NO_CACHE:
		o->record.cache = false;
		return 0;
	case OPTION_FORMAT:
		p->format = arg;
		return 0;
	case OPTION_NO_SYMBOLS:
		o->record.symbols = false;
		return 0;
	case ARGP_KEY_ARG:
		parse_argument(p, state, arg);
		return 0;
	case ARGP_KEY_END:
		parse_end(p, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

void options_parse(struct options *ret, int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse_option,
		.args_doc = "-p PID\n[record] -a\n[record] -- CMD [ARG...]",
		.doc = "Find out where programs spend their time, through stacks that are unwound "
		       "in the kernel from tables made of the binaries' own unwind information.\v"
		       "The command `dwarfprof tables FILE...' shows such tables; see "
		       "`dwarfprof tables --help'.\n\n"
		       "Exit codes: 0 done; 1 failed; 2 wrong usage; 3 not permitted; 4 no such "
		       "process; 5 no samples; a command's own code wins, 126 if it cannot be executed, "
		       "127 if it is not found.",
	};
	struct parse parse = { .options = ret };

	*ret = (struct options){
		.record = { .hz = 99,
			    .max_frames = 1024,
			    .table_memory = record_default_table_memory(),
			    .unwind = DP_UNWIND_AUTO,
			    .cache = true,
			    .symbols = true },
	};
	argp_err_exit_status = EXIT_CODE_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &parse);
}

void options_done(struct options *options)
{
	free(options->pids);
	free(options->uprobe);
}
