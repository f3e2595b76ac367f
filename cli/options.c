// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <argp.h>
#include <argz.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/event_options.h"
#include "cli/mode_options.h"
#include "cli/off_cpu_options.h"
#include "cli/name_options.h"
#include "cli/quantity.h"
#include "cli/sandbox_options.h"
#include "formats/report_format.h"
#include "kernel/filter.h"
#include "log/suggestion.h"
#include "report/report.h"

enum {
	OPTION_ALLOC = 256,
	OPTION_BTF,
	OPTION_BY,
	OPTION_COMM,
	OPTION_CRASHES,
	OPTION_EXCEPTIONS,
	OPTION_FORMAT,
	OPTION_KILL,
	OPTION_MAX_BLOCK,
	OPTION_MAX_RATE,
	OPTION_MAX_STACK,
	OPTION_MIN_BLOCK,
	OPTION_NATIVE_FRAMES,
	OPTION_NO_CACHE,
	OPTION_NO_INHERIT,
	OPTION_OFF_CPU,
	OPTION_SANDBOX,
	OPTION_STATE,
	OPTION_TABLE_MEMORY,
	OPTION_UNWIND,
	OPTION_VALUE,
	OPTION_PROBE,
	OPTION_PROBE_SOCKET,
	OPTION_PROCESS_METRICS,
	OPTION_REDACT,
	OPTION_VERIFY,
	OPTION_WALL,
};

/* Options of all commands that show stacks: targets, unwinding, names. */
static const struct argp_option shared_options[] = {
	{ "pid", 'p', "PID[,PID...]", 0,
	  "these processes with all their threads and, when sampling, their children", 1 },
	{ "tid", 't', "TID[,TID...]", 0, "only these threads", 1 },
	{ "unwind", OPTION_UNWIND, "MODE", 0,
	  "auto: unwind tables, and frame pointers where code has none; "
	  "dwarf: tables only; fp: frame pointers only; "
	  "copy: as auto, but in user space, from a copy of the stack (auto)",
	  3 },
	{ "native-frames", OPTION_NATIVE_FRAMES, "MODE", 0,
	  "fold: a language's functions instead of its interpreter's frames; all: both; "
	  "only: native frames (fold)",
	  3 },
	{ "max-stack", OPTION_MAX_STACK, "N", 0,
	  "maximum number of frames per stack, up to 2048 (1024)", 3 },
	{ "table-memory", OPTION_TABLE_MEMORY, "SIZE", 0,
	  "maximum memory for tables: 64M, 1G (a sixteenth of the machine's, at least 64M)", 3 },
	{ "no-cache", OPTION_NO_CACHE, NULL, 0, "do not use the cache of tables and names on disk",
	  3 },
	{ "sandbox", OPTION_SANDBOX, "MODE", 0, SANDBOX_OPTIONS_HELP, 3 },
	{ "btf", OPTION_BTF, "FILE", 0,
	  "file with the kernel's type information (/sys/kernel/btf/vmlinux)", 3 },
	{ "user-only", 'U', NULL, 0,
	  "leave out kernel frames; time in the kernel counts for the function that called it", 3 },
	{ "kernel-only", 'K', NULL, 0, "leave out user frames, and samples outside the kernel", 3 },
	{ 0 },
};

/* Options of commands that sample. */
static const struct argp_option target_options[] = {
	{ "all", 'a', NULL, 0, "all processes, including those that start later", 1 },
	{ "no-inherit", OPTION_NO_INHERIT, NULL, 0, "leave out the children of -p or of a command",
	  1 },
	{ "cpu", 'C', "CPUS", 0, "only on these CPUs, such as 0-3,7", 1 },
	{ "cgroup", 'G', "CGROUP", 0, "only in this cgroup (v2) and those below it", 1 },
	{ "user", 'u', "USER", 0, "only processes of this user, by name or number, as shown by ps",
	  1 },
	{ "comm", OPTION_COMM, "REGEX", 0,
	  "only processes whose name matches this extended regular expression", 1 },
	{ 0 },
};

/* An @ stands for what fill_in() lists. */
static const struct argp_option sampling_options[] = {
	{ .doc = "When to take a sample", .group = 2 },
	{ "freq", 'F', "HZ", 0,
	  "samples per second and CPU (99), of CPU time or of what the CPU counts; other events are not "
	  "sampled at a rate",
	  2 },
	{ "event", 'e', "EVENT", 0,
	  "what to sample instead of CPU time: @; several counted "
	  "events, or several tracepoints, are separated by commas",
	  2 },
	{ "count", 'c', "N", 0, "sample every Nth of these events", 2 },
	{ "off-cpu", OPTION_OFF_CPU, NULL, 0,
	  "sample where threads are blocked, and for how long, instead of CPU time", 2 },
	{ "wall", OPTION_WALL, NULL, 0,
	  "sample CPU time and the time that threads are off the CPU, in one profile", 2 },
	{ "exceptions", OPTION_EXCEPTIONS, NULL, 0,
	  "sample where exceptions of C++ and Python are thrown", 2 },
	{ "alloc", OPTION_ALLOC, "SIZE", OPTION_ARG_OPTIONAL,
	  "sample where memory is allocated, every SIZE on average or (1) each time, and what is "
	  "held at the end (512K)",
	  2 },
	{ "min-block", OPTION_MIN_BLOCK, "TIME", 0,
	  "leave out shorter off-CPU intervals: 100 or 100us, 5ms, 1s (1us)", 2 },
	{ "max-block", OPTION_MAX_BLOCK, "TIME", 0, "leave out longer off-CPU intervals", 2 },
	{ "state", OPTION_STATE, "LETTER[,LETTER...]", 0,
	  "only threads blocked in these states: S, D, T, t, P, I, or R for preempted "
	  "(S,D; with --wall all)",
	  2 },
	{ "value", OPTION_VALUE, "NAME[:UNIT]", 0,
	  "add up a number that -e reads, such as bytes, besides counting samples; of several "
	  "events, one each",
	  2 },
	{ "probe", OPTION_PROBE, "KIND:PATH:NAME(VALUES)", 0,
	  "label: label samples taken during calls of these functions with the values, up to "
	  "4 times; span:... min=TIME: only samples in calls that take at least that long",
	  2 },
	{ "probe-socket", OPTION_PROBE_SOCKET, "PATH", 0,
	  "let `dwarfprof probe' add probes through this socket while sampling", 2 },
	{ "process-metrics", OPTION_PROCESS_METRICS, NULL, 0,
	  "label samples with the CPU time, memory and I/O of their process", 2 },
	{ "redact", OPTION_REDACT, "REGEX", 0,
	  "replace what matches in values and labels by <redacted>", 2 },
	{ "max-rate", OPTION_MAX_RATE, "N", 0,
	  "at most about N samples per second and process, chosen at random; counts are scaled",
	  2 },
	{ 0 },
};

/* Options of commands that write files. */
static const struct argp_option file_options[] = {
	{ "output", 'o', "FILE", 0,
	  "where to write, repeatable; %p, %t and %h in it become the process number, the time and the host name (stdout: text on a terminal, and always for dump; else folded stacks)",
	  4 },
	{ "format", OPTION_FORMAT, "FORMAT", 0, "@ (by the extension of FILE)", 4 },
	{ "by", OPTION_BY, "KEY", 0, OUTPUT_OPTIONS_BY_HELP, 4 },
	OUTPUT_OPTIONS_WIDE,
	{ 0 },
};

static const struct argp_option argp_options[] = {
	{ .doc = "What to profile (exactly one of -p, -t, -a, or a command after --; -C, -G, -u "
		 "and --comm narrow it down, and imply -a on their own)",
	  .group = 1 },
	{ "duration", 'd', "TIME", 0, "how long to sample: 30, 30s, 500ms, 5m (until Ctrl-C)", 2 },
	{ "crashes", OPTION_CRASHES, "FILE", OPTION_ARG_OPTIONAL,
	  "describe each signal that ends a process with a core dump, and its stack (on stderr)",
	  2 },
	{ "kill", OPTION_KILL, NULL, 0,
	  "end the command when sampling ends, instead of waiting for it", 2 },
	{ .doc = "How to walk stacks", .group = 3 },
	{ "verify", OPTION_VERIFY, "N", OPTION_ARG_OPTIONAL,
	  "also unwind every Nth sample with elfutils' libdwfl, and report how often both "
	  "agree (10)",
	  3 },
	{ .doc = "What to write", .group = 4 },
	{ 0 },
};

/* For --verify without a number: enough for a result, but too few to affect the sampling rate. */
#define DEFAULT_VERIFY 10

/* Parses an integer from min to max, or ends the program. */
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

/* Adds numbers of processes or threads to the list. */
static void parse_pids(struct argp_state *state, const char *option, char *text, pid_t **pids,
		       size_t *n_pids)
{
	char *save, *word;

	for (word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		pid_t *more = reallocarray(*pids, *n_pids + 1, sizeof(*more));

		if (!more)
			argp_failure(state, EXIT_CODE_FAILED, ENOMEM, "%s", option);
		*pids = more;
		more[*n_pids] = (pid_t)parse_number(state, option, word, 1, INT32_MAX);
		++*n_pids;
	}
	if (*n_pids == 0)
		argp_error(state, "%s takes numbers of %s, separated by commas", option,
			   option[1] == 't' ? "threads" : "processes");
}

static void parse_filter(struct argp_state *state,
			 int (*set)(struct filter *, const char *, char *), struct filter *filter,
			 const char *text)
{
	char why[FILTER_WHY_SIZE];

	if (set(filter, text, why) < 0)
		argp_failure(state, EXIT_CODE_USAGE, 0, "%s", why);
}

static void parse_sides(struct options *o, struct argp_state *state, enum dp_sides sides)
{
	if (o->record.profiler.sides != DP_SIDES_BOTH && o->record.profiler.sides != sides)
		argp_error(state, "-U and -K exclude each other");
	o->record.profiler.sides = sides;
}

void options_parse_command(struct options *o, struct argp_state *state, char *arg, const char *name)
{
	struct suggestion meant = { .given = arg };

	if (state->quoted && state->next > state->quoted) {
		o->record.profiler.target.command = state->argv + state->quoted;
		state->next = state->argc; /* the rest belongs to the command */
	} else if (state->arg_num > 0 || strcmp(arg, name) != 0) {
		command_suggest(&meant);
		argp_error(state,
			   "there is no command '%s'%s%s%s A program to profile follows after --",
			   arg, meant.word ? "; did you mean '" : ".", meant.word ? meant.word : "",
			   meant.word ? "'?" : "");
	}
}

void options_complete_output(struct options *o, struct argp_state *state)
{
	output_options_complete(&o->output, state);
	o->record.outputs = o->output.requests;
	o->record.n_outputs = o->output.n;
}

void options_complete(struct options *o, struct argp_state *state)
{
	struct profiler_options *r = &o->record.profiler;
	const char *wrong;
	int kinds = (r->target.n_pids > 0) + (r->target.n_tids > 0) + r->target.all +
		    (r->target.command != NULL);

	r->target.pids = o->pids;
	r->target.tids = o->tids;
	r->symbols = !o->names.options.none;
	if (kinds == 0 && !filter_is_set(r->target.filter))
		argp_error(state, "nothing to profile: give -p PID, -a, or -- CMD");
	if (kinds > 1)
		argp_error(state, "-p, -t, -a and -- CMD exclude each other");
	if (r->verify && r->sides == DP_SIDES_KERNEL)
		argp_error(state,
			   "-K and --verify exclude each other: --verify compares user stacks");
	r->target.all |= kinds == 0;
	if ((r->target.all || r->target.n_tids > 0) && !r->target.inherit)
		argp_error(state, "--no-inherit needs -p PID or -- CMD");
	if (o->record.kill && !r->target.command)
		argp_error(state, "--kill needs -- CMD");
	if (state->quoted && !r->target.command)
		argp_error(state, "a command is missing after --");
	event_options_complete(o, state);
	wrong = off_cpu_options_complete(r);
	if (wrong)
		argp_error(state, "%s", wrong);
}

static error_t parse_block_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPTION_OFF_CPU:
		event_options_set(o, state, &(struct event){ .source = &event_off_cpu });
		return 0;
	case OPTION_WALL:
		event_options_set(o, state, &(struct event){ .source = &event_wall });
		return 0;
	case OPTION_EXCEPTIONS:
		event_options_set(o, state, &(struct event){ .source = &event_exceptions });
		return 0;
	case OPTION_ALLOC:
		event_options_set_alloc(o, state, arg);
		return 0;
	case OPTION_MIN_BLOCK:
	case OPTION_MAX_BLOCK:
		if (off_cpu_options_parse_time(arg, key == OPTION_MIN_BLOCK ?
							    &o->record.profiler.min_block_ns :
							    &o->record.profiler.max_block_ns) < 0)
			argp_error(state, "%s takes a time such as 100, 100us, 5ms or 1s, not '%s'",
				   key == OPTION_MIN_BLOCK ? "--min-block" : "--max-block", arg);
		return 0;
	case OPTION_STATE:
		if (off_cpu_options_parse_states(arg, &o->record.profiler.states) < 0)
			argp_error(
				state,
				"--state takes letters such as S,D out of R, S, D, T, t, P and I, not '%s'",
				arg);
		return 0;
	case OPTION_VALUE:
		event_options_set_value(o, state, arg);
		return 0;
	case OPTION_PROBE:
		event_options_set_probe(o, state, arg);
		return 0;
	case OPTION_PROBE_SOCKET:
		o->record.profiler.probe_socket = arg;
		return 0;
	case OPTION_PROCESS_METRICS:
		o->record.profiler.process_metrics = true;
		return 0;
	case OPTION_REDACT:
		event_options_set_redaction(o, state, arg);
		return 0;
	case OPTION_MAX_RATE:
		o->record.profiler.max_rate =
			(unsigned int)parse_number(state, "--max-rate", arg, 1, 1000000);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* What to profile. */
static error_t parse_target(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'p':
		parse_pids(state, "-p", arg, &o->pids, &o->record.profiler.target.n_pids);
		return 0;
	case 't':
		parse_pids(state, "-t", arg, &o->tids, &o->record.profiler.target.n_tids);
		return 0;
	case 'C':
		parse_filter(state, filter_set_cpus, &o->filter, arg);
		return 0;
	case 'G':
		parse_filter(state, filter_set_cgroup, &o->filter, arg);
		return 0;
	case 'u':
		parse_filter(state, filter_set_user, &o->filter, arg);
		return 0;
	case OPTION_COMM:
		parse_filter(state, filter_set_comm, &o->filter, arg);
		return 0;
	case OPTION_NO_INHERIT:
		o->record.profiler.target.inherit = false;
		return 0;
	case 'a':
		o->record.profiler.target.all = true;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	error_t err;

	switch (key) {
	case 'd':
		if (quantity_parse_duration(arg, &o->record.duration_ns) < 0)
			argp_error(state, "-d takes a time such as 30, 30s, 500ms or 5m, not '%s'",
				   arg);
		return 0;
	case OPTION_CRASHES:
		o->output.crashes = arg ? arg : OUTPUT_STDERR;
		return 0;
	case OPTION_KILL:
		o->record.kill = true;
		return 0;
	case 'F':
		o->hz_given = true;
		o->record.profiler.hz = (unsigned int)parse_number(state, "-F", arg, 1, 1000000);
		return 0;
	case 'c':
		o->record.profiler.period =
			(unsigned int)parse_number(state, "-c", arg, 1, UINT32_MAX);
		return 0;
	case 'e':
		event_options_parse(o, state, arg);
		return 0;
	case 'o':
		output_options_add(&o->output, state, arg);
		return 0;
	case 'U':
	case 'K':
		parse_sides(o, state, key == 'U' ? DP_SIDES_USER : DP_SIDES_KERNEL);
		return 0;
	case OPTION_UNWIND:
		o->record.profiler.unwind = mode_options_parse_unwind(state, arg);
		return 0;
	case OPTION_NATIVE_FRAMES:
		o->record.profiler.native_frames = mode_options_parse_native(state, arg);
		return 0;
	case OPTION_MAX_STACK:
		o->record.profiler.max_frames =
			(unsigned int)parse_number(state, "--max-stack", arg, 1, DP_MAX_FRAMES);
		return 0;
	case OPTION_TABLE_MEMORY:
		o->record.profiler.table_memory = mode_options_parse_table_memory(state, arg);
		return 0;
	case OPTION_VERIFY:
		o->record.profiler.verify =
			arg ? (unsigned int)parse_number(state, "--verify", arg, 1, 1000000) :
			      DEFAULT_VERIFY;
		return 0;
	case OPTION_BTF:
		o->record.profiler.btf = arg;
		return 0;
	case OPTION_SANDBOX:
		if (sandbox_options_parse(arg, &o->record.profiler.sandbox) < 0)
			argp_error(state, SANDBOX_OPTIONS_ERROR, arg);
		return 0;
	case OPTION_NO_CACHE:
		o->record.profiler.cache = false;
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
	}
	err = parse_target(key, arg, state);
	return err == ARGP_ERR_UNKNOWN ? parse_block_option(key, arg, state) : err;
}

/* ARGP_KEY_END and the like: argp.h. */
#define FIRST_SPECIAL_KEY 0x1000000

/* Arguments that are not options belong to the command that includes these options. */
static error_t parse_part(int key, char *arg, struct argp_state *state)
{
	if (key == ARGP_KEY_ARG || key >= FIRST_SPECIAL_KEY)
		return ARGP_ERR_UNKNOWN;
	return parse_option(key, arg, state);
}

static error_t parse_shared(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = &o->names;
		return 0;
	}
	return parse_part(key, arg, state);
}

static const struct argp_child name_options[] = { { .argp = &name_options_argp }, { 0 } };

const struct argp options_shared = {
	.options = shared_options,
	.parser = parse_shared,
	.children = name_options,
};

/* Puts the rows of the tables of events and formats in the place of an @. argp frees the text. */
static char *fill_in(int key, const char *text, void *input)
{
	void (*list)(FILE * to) = key == 'e'           ? event_list_help :
				  key == OPTION_FORMAT ? report_format_list_names :
							 NULL;
	const char *at = list && text ? strchr(text, '@') : NULL;
	char *more = NULL;
	size_t size;
	FILE *to = at ? open_memstream(&more, &size) : NULL;

	if (!to)
		return (char *)text;
	fwrite(text, 1, (size_t)(at - text), to);
	list(to);
	fputs(at + 1, to);
	fclose(to);
	return more;
}

const struct argp options_targets = { .options = target_options, .parser = parse_part };
const struct argp options_sampling = {
	.options = sampling_options,
	.parser = parse_part,
	.help_filter = fill_in,
};
const struct argp options_files = {
	.options = file_options,
	.parser = parse_part,
	.help_filter = fill_in,
};

static error_t parse_record(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		for (int i = 0; i < 4; i++)
			state->child_inputs[i] = o;
		return 0;
	case ARGP_KEY_ARG:
		options_parse_command(o, state, arg, "record");
		return 0;
	case ARGP_KEY_END:
		options_complete(o, state);
		options_complete_output(o, state);
		return 0;
	}
	return parse_part(key, arg, state);
}

/* Joins the words with spaces, as typed. NULL if out of memory. */
static char *join_words(char **argv)
{
	char *text = NULL;
	size_t size;

	if (argz_create(argv, &text, &size) == 0)
		argz_stringify(text, size, ' ');
	return text;
}

void options_init(struct options *ret, char **argv)
{
	*ret = (struct options){
		.record.profiler = { .event = { .source = &event_cpu },
				     .hz = PROFILER_HZ,
				     .alloc_interval = ALLOC_INTERVAL,
				     .min_block_ns = BLOCK_TIME_NONE,
				     .max_block_ns = BLOCK_TIME_NONE,
				     .max_frames = PROFILER_FRAMES,
				     .table_memory = pool_default_memory(),
				     .unwind = DP_UNWIND_AUTO,
				     .target = { .inherit = true, .filter = &ret->filter },
				     .cache = true },
	};
	ret->command_line = join_words(argv);
	ret->record.command_line = ret->command_line ? ret->command_line : "";
	filter_init(&ret->filter);
}

static const struct argp_child parts[] = {
	{ .argp = &options_shared },
	{ .argp = &options_targets },
	{ .argp = &options_sampling },
	{ .argp = &options_files },
	{ 0 },
};

const struct argp options_record = {
	.options = argp_options,
	.parser = parse_record,
	.children = parts,
	.args_doc = "-p PID[,PID...]\n-t TID[,TID...]\n-a|FILTER...\n-- CMD [ARG...]",
	.doc = "Find out where programs spend their time. Stacks are unwound in the kernel, "
	       "with tables made from the binaries' own unwind information.\v"
	       "Exit codes: 0 done; 1 failed; 2 wrong usage; 3 not permitted; 4 no such "
	       "process; 5 no samples. The exit code of a profiled command takes precedence: "
	       "126 if it cannot be executed, 127 if it is not found.",
	.help_filter = command_add_names,
};

void options_parse(struct options *ret, int argc, char **argv)
{
	options_init(ret, argv);
	command_parse(&command_record, argc, argv, ret);
}

void options_done(struct options *options)
{
	free(options->pids);
	free(options->tids);
	filter_done(&options->filter);
	redaction_done(&options->redaction);
	event_options_done(options);
	free(options->command_line);
	output_options_done(&options->output);
}
