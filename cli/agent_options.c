// SPDX-License-Identifier: Apache-2.0
#include "cli/agent_options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "agent/address.h"
#include "agent/config.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/event_options.h"
#include "cli/fetch_options.h"
#include "cli/masked_line.h"
#include "cli/off_cpu_options.h"
#include "cli/quantity.h"
#include "log/log.h"
#include "log/suggestion.h"
#include "sandbox/helper.h"

enum {
	OPTION_AS_READ = 4352,
	OPTION_CHECK,
	OPTION_CPU_BUDGET,
	OPTION_DEBUGINFOD,
	OPTION_DELIVER,
	OPTION_INTERVAL,
	OPTION_LABEL_SETS,
	OPTION_MAX_RATE,
	OPTION_MEMORY,
	OPTION_MIN_BLOCK,
	OPTION_OFF_CPU,
	OPTION_PROBE_SOCKET,
	OPTION_PROCESS_METRICS,
	OPTION_PULL,
	OPTION_PULL_TOKEN_FILE,
	OPTION_REDACT,
	OPTION_SPOOL,
	OPTION_SPOOL_SIZE,
	OPTION_STORE,
	OPTION_STORE_AGE,
	OPTION_STORE_SIZE,
	OPTION_STRING_MEMORY,
	OPTION_SYMBOL_MEMORY,
};

/* Of blocked threads, an agent wants those that someone waits for. */
#define MIN_BLOCK_NS UINT64_C(1000000)

static const struct argp_option argp_options[] = {
	{ .doc = "Configuration", .group = -2 },
	{ "config", 'c', "FILE", 0,
	  "read options from a file, one per line: `freq = 19', `off-cpu = yes'; those of the command "
	  "line take precedence. SIGHUP reads it again",
	  -2 },
	{ "check", OPTION_CHECK, NULL, 0, "only check the configuration", -2 },
	{ "as-read", OPTION_AS_READ, "FD", OPTION_HIDDEN, NULL, -2 }, /* the agent's own */
	{ .doc = "What to profile (all processes)", .group = 1 },
	{ .doc = "When to take a sample", .group = 2 },
	{ "freq", 'F', "HZ", 0, "samples per second and CPU (19)", 2 },
	{ "event", 'e', "EVENT", 0, "what to sample instead of CPU time, as for record", 2 },
	{ "off-cpu", OPTION_OFF_CPU, NULL, 0, "also sample the time that threads are blocked", 2 },
	{ "min-block", OPTION_MIN_BLOCK, "TIME", 0,
	  "leave out shorter off-CPU intervals: 100us, 5ms (1ms)", 2 },
	{ "max-rate", OPTION_MAX_RATE, "N", 0,
	  "at most about N samples per second and process, chosen at random; counts are scaled",
	  2 },
	{ "probe-socket", OPTION_PROBE_SOCKET, "PATH", 0,
	  "let `dwarfprof probe' add probes through this socket while sampling", 2 },
	{ "process-metrics", OPTION_PROCESS_METRICS, NULL, 0,
	  "label samples with the CPU time, memory and I/O of their process", 2 },
	{ "redact", OPTION_REDACT, "REGEX", 0,
	  "replace what matches in values and programs' labels by <redacted>", 2 },
	{ .doc = "How to walk stacks", .group = 3 },
	{ .doc = "What to show", .group = 4 },
	{ "debuginfod", OPTION_DEBUGINFOD, "URLS", OPTION_ARG_OPTIONAL,
	  "query these servers for debug files, or those of DEBUGINFOD_URLS; nothing waits for them (no)",
	  4 },
	{ .doc = "Where profiles go", .group = 5 },
	{ "interval", OPTION_INTERVAL, "TIME", 0, "length of each recording (10s)", 5 },
	{ "store", OPTION_STORE, "DIR", 0, "keep a recording of each interval in this directory",
	  5 },
	{ "store-size", OPTION_STORE_SIZE, "SIZE", 0,
	  "remove the oldest recordings beyond this size: 500M, 10G (1G)", 5 },
	{ "store-age", OPTION_STORE_AGE, "TIME", 0, "remove older recordings: 12h, 30d (7d)", 5 },
	{ "pull", OPTION_PULL, "ADDRESS:PORT", 0,
	  "answer HTTP requests for profiles, metrics and the state; also unix:PATH", 5 },
	{ "pull-token-file", OPTION_PULL_TOKEN_FILE, "FILE", 0,
	  "answer only requests whose bearer token is the first line of this file; required unless "
	  "the address is a loopback address",
	  5 },
	{ "deliver", OPTION_DELIVER, "TIME", 0, "length of each delivered profile (1m)", 5 },
	{ "spool", OPTION_SPOOL, "DIR", 0,
	  "store profiles that wait for backends here, safe if the agent is killed (in memory)",
	  5 },
	{ "spool-size", OPTION_SPOOL_SIZE, "SIZE", 0,
	  "drop the oldest waiting profiles beyond this size, per backend (256M)", 5 },
	{ "label-sets", OPTION_LABEL_SETS, "N", 0,
	  "at most N label sets in 20 minutes; further samples keep their service or become `other' (500)",
	  5 },
	{ .doc = "What it may cost", .group = 7 },
	{ "cpu-budget", OPTION_CPU_BUDGET, "PERCENT", 0,
	  "delay tables and names rather than take more than this share of a CPU (no limit)", 7 },
	{ "memory", OPTION_MEMORY, "SIZE", 0,
	  "restart, without a gap, above this much memory, not counting tables (256M)", 7 },
	{ "symbol-memory", OPTION_SYMBOL_MEMORY, "SIZE", 0,
	  "forget symbols of binaries that were not sampled lately rather than take more (32M)",
	  7 },
	{ "string-memory", OPTION_STRING_MEMORY, "SIZE", 0, "the same for their names (32M)", 7 },
	{ 0 },
};

static void parse_time(struct argp_state *state, const char *option, const char *text,
		       uint64_t min_ns, uint64_t *ret)
{
	if (quantity_parse_duration(text, ret) < 0 || *ret < min_ns)
		argp_error(state, "%s takes a time such as 10s, 5m, 12h or 30d, not '%s'", option,
			   text);
}

static error_t parse_size(struct agent_settings *s, struct argp_state *state, int key,
			  const char *text)
{
	const struct {
		int key;
		const char *option;
		uint64_t *to;
	} sizes[] = {
		{ OPTION_MEMORY, "memory", &s->agent.memory },
		{ OPTION_SPOOL_SIZE, "spool-size", &s->agent.spool_size },
		{ OPTION_STORE_SIZE, "store-size", &s->agent.store_limits.size },
		{ OPTION_STRING_MEMORY, "string-memory", &s->agent.run.string_memory },
		{ OPTION_SYMBOL_MEMORY, "symbol-memory", &s->agent.run.symbol_memory },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (sizes[i].key != key)
			continue;
		if (quantity_parse_size(text, sizes[i].to) < 0 || *sizes[i].to == 0)
			argp_error(state, "--%s takes a size such as 500M or 10G, not '%s'",
				   sizes[i].option, text);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static unsigned int parse_number(struct argp_state *state, const char *option, const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || value < 1 || value > 1000000)
		argp_error(state, "%s takes a whole number from 1 to 1000000, not '%s'", option,
			   text);
	return (unsigned int)value;
}

static void parse_pull(struct agent_settings *s, struct argp_state *state, const char *text)
{
	struct address address;

	if (address_parse(text, &address) < 0)
		argp_error(state, "--pull takes ADDRESS:PORT or unix:PATH, not '%s'", text);
	s->agent.pull = text;
}

/* Options of sampling that mean the same for other commands. */
static error_t parse_as_others(struct agent_settings *s, struct argp_state *state, int key,
			       char *arg)
{
	error_t err;

	state->input = &s->options;
	err = options_sampling.parser(key, arg, state);
	state->input = s;
	return err;
}

static error_t parse_output(int key, char *arg, struct argp_state *state)
{
	struct agent_settings *s = state->input;

	switch (key) {
	case OPTION_INTERVAL:
		parse_time(state, "--interval", arg, 100000000, &s->agent.interval_ns);
		return 0;
	case OPTION_STORE:
		s->agent.store = arg;
		return 0;
	case OPTION_STORE_AGE:
		parse_time(state, "--store-age", arg, 1, &s->agent.store_limits.age_ns);
		return 0;
	case OPTION_PULL:
		parse_pull(s, state, arg);
		return 0;
	case OPTION_PULL_TOKEN_FILE:
		s->agent.pull_token_file = arg;
		return 0;
	case OPTION_CPU_BUDGET:
		if (quantity_parse_percent(arg, &s->agent.cpu_share) < 0)
			argp_error(state,
				   "--cpu-budget takes a share of a CPU in percent, not '%s'", arg);
		return 0;
	case OPTION_DELIVER:
		parse_time(state, "--deliver", arg, 100000000, &s->agent.deliver_ns);
		return 0;
	case OPTION_LABEL_SETS:
		s->label_sets = parse_number(state, "--label-sets", arg);
		return 0;
	case OPTION_SPOOL:
		s->agent.spool = arg;
		return 0;
	}
	return parse_size(s, state, key, arg);
}

static void complete(struct agent_settings *s, struct argp_state *state)
{
	struct options *o = &s->options;
	struct profiler_options *p = &o->record.profiler;

	p->target.all |= p->target.n_pids + p->target.n_tids == 0;
	if (s->off_cpu && o->event_given)
		argp_error(state, "--off-cpu and -e exclude each other");
	if (s->off_cpu) {
		event_options_set(o, state, &(struct event){ .source = &event_wall });
		if (p->min_block_ns == BLOCK_TIME_NONE)
			p->min_block_ns = MIN_BLOCK_NS;
		p->states = 0;
		(void)off_cpu_options_parse_states("S,D", &p->states);
	}
	options_complete(o, state);
	if (p->event.source == &event_alloc)
		argp_error(state, "agents take no --alloc: memory in use is known only at the end");
	backend_settings_complete(&s->backends, state);
	if (!s->agent.store && !s->agent.pull && s->backends.n == 0)
		argp_error(state, "profiles go nowhere: give --store DIR, --otlp URL, --pyroscope "
				  "URL or --pull ADDRESS:PORT");
	for (size_t i = 0; i < s->backends.n; i++)
		s->backends.items[i].max_label_sets = s->label_sets;
	s->agent.backends = s->backends.items;
	s->agent.n_backends = s->backends.n;
	p->helper = HELPER_SELF;
	s->agent.run.profiler = *p;
	s->agent.run.profiler.label_sources.tells_service = true;
	fetch_options_complete(&o->names, s->debuginfod, state);
	s->agent.run.names = o->names.options;
	s->agent.run.names.go_last = true;
	s->agent.run.command_line = o->record.command_line;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct agent_settings *s = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		if (s->errors)
			state->err_stream = s->errors;
		state->child_inputs[0] = &s->options;
		state->child_inputs[1] = &s->options;
		state->child_inputs[2] = &s->backends;
		return 0;
	case 'c':
		s->config = arg;
		return 0;
	case OPTION_AS_READ:
		s->config_fd = (int)parse_number(state, "--as-read", arg);
		return 0;
	case OPTION_CHECK:
		s->check = true;
		return 0;
	case 'F':
	case 'e':
		return parse_as_others(s, state, key, arg);
	case OPTION_OFF_CPU:
		s->off_cpu = true;
		return 0;
	case OPTION_DEBUGINFOD:
		fetch_options_parse(arg, &s->options.names, &s->debuginfod);
		return 0;
	case OPTION_MIN_BLOCK:
		if (off_cpu_options_parse_time(arg, &s->options.record.profiler.min_block_ns) < 0)
			argp_error(state,
				   "--min-block takes a time such as 100us, 5ms or 1s, not '%s'",
				   arg);
		return 0;
	case OPTION_MAX_RATE:
		s->options.record.profiler.max_rate = parse_number(state, "--max-rate", arg);
		return 0;
	case OPTION_PROCESS_METRICS:
		s->options.record.profiler.process_metrics = true;
		return 0;
	case OPTION_REDACT:
		if (s->redacts_by_file && !s->errors) /* the command line takes precedence */
			redaction_done(&s->options.redaction);
		s->redacts_by_file = s->errors;
		event_options_set_redaction(&s->options, state, arg);
		return 0;
	case OPTION_PROBE_SOCKET:
		s->options.record.profiler.probe_socket = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", arg);
		return 0;
	case ARGP_KEY_END:
		if (!s->is_partial)
			complete(s, state);
		return 0;
	}
	return parse_output(key, arg, state);
}

static const struct argp_child parts[] = {
	{ .argp = &options_shared },
	{ .argp = &options_targets },
	{ .argp = &backend_options_argp },
	{ 0 },
};

const struct argp agent_options_argp = {
	.options = argp_options,
	.parser = parse_option,
	.children = parts,
	.args_doc = "--store DIR\n--otlp URL\n--pyroscope URL\n--pull ADDRESS:PORT\n-c FILE",
	.doc = "Profile the machine continuously: a profile every interval.\v"
	       "SIGTERM ends it after it has written the current interval. SIGHUP reads the "
	       "configuration again; sampling continues without a gap.\n\n"
	       "Exit codes: 0 ended by a signal; 1 failed; 2 wrong usage or configuration; 3 not "
	       "permitted; 4 no such process.",
};

struct search {
	const char *key;
	int group;
	bool is_known, takes_value;
	struct suggestion suggestion;
};

static void search_option(void *arg, const struct argp_option *o)
{
	struct search *s = arg;

	if (!o->name || o->key == 'c' || o->key == OPTION_CHECK)
		return;
	if (strcmp(o->name, s->key) != 0) {
		suggestion_consider(&s->suggestion, o->name);
		return;
	}
	s->is_known = true;
	s->takes_value = o->arg;
	s->group = o->group;
}

/* The entry that is being parsed. */
struct configuration {
	struct agent_settings *settings;
	const char *path;
	const struct config_entry *entry;
	unsigned int section_line; /* of the last section */
};

__attribute__((format(printf, 3, 4), noreturn)) static void
fail(const struct configuration *c, unsigned int column, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "dwarfprof agent: %s:%u:%u: ", c->path, c->entry->line, column);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(EXIT_CODE_USAGE); /* perhaps from within argp's own writing */
}

/* What argp writes before a message, and the line about --help after it. */
#define ARGP_NAME "value"
#define ARGP_HINT "Try "

/* Says where in the file that is wrong which argp complains of, in one write before it exits. */
static ssize_t write_error(void *cookie, const char *text, size_t size)
{
	const struct configuration *c = cookie;
	size_t skip = strlen(ARGP_NAME ": "), n;

	if (size <= skip || strncmp(text, ARGP_HINT, strlen(ARGP_HINT)) == 0)
		return (ssize_t)size;
	n = strcspn(text + skip, "\n");
	fail(c, c->entry->value_column + (unsigned int)c->settings->backends.wrong_at, "%.*s",
	     (int)n, text + skip);
}

static int parse_word(struct configuration *c, char *word)
{
	static const cookie_io_functions_t functions = { .write = write_error };
	char name[] = ARGP_NAME, *words[] = { name, word, NULL };
	struct agent_settings *s = c->settings;

	s->errors = fopencookie(c, "w", functions);
	if (!s->errors)
		return -ENOMEM;
	(void)setvbuf(s->errors, NULL, _IOLBF, BUFSIZ);
	s->is_partial = true;
	argp_parse(&agent_options_argp, 2, words, ARGP_NO_HELP, NULL, s);
	s->is_partial = false;
	fclose(s->errors);
	s->errors = NULL;
	return 0;
}

static int keep_word(struct agent_settings *s, char *word)
{
	if (!word || array_reserve(s->words, s->n_words, s->words_size) < 0) {
		free(word);
		return -ENOMEM;
	}
	s->words[s->n_words++] = word;
	return 0;
}

/* A section is an option of its kind, and has the options of one group. */
static const struct {
	const char *kind;
	int group;
} sections[] = {
	{ "backend", BACKEND_OPTIONS_GROUP },
};

/* 0: before all sections. */
static int section_group(const struct configuration *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		if (strcmp(sections[i].kind, c->entry->section) == 0)
			return sections[i].group;
	if (c->entry->section[0])
		fail(c, c->entry->key_column,
		     "unknown section [%s NAME]; only [backend NAME] exists", c->entry->section);
	return 0;
}

static void end_section(const struct configuration *c)
{
	if (!backend_settings_lack_url(&c->settings->backends))
		return;
	fprintf(stderr,
		"dwarfprof agent: %s:%u:1: this backend lacks a URL: give otlp or pyroscope\n",
		c->path, c->section_line);
	_exit(EXIT_CODE_USAGE);
}

static int begin_section(struct configuration *c)
{
	char *word;
	int err;

	(void)section_group(c);
	end_section(c);
	c->section_line = c->entry->line;
	if (asprintf(&word, "--%s=%s", c->entry->section, c->entry->value) < 0)
		return -ENOMEM;
	err = keep_word(c->settings, word);
	return err < 0 ? err : parse_word(c, word);
}

static void find_key(const struct configuration *c, struct search *search)
{
	const char *key = c->entry->key, *meant;
	int group = section_group(c);

	command_for_each_option(&agent_options_argp, search_option, search);
	meant = search->suggestion.word;
	if (!search->is_known)
		fail(c, c->entry->key_column, "there is no key '%s'%s%s%s", key,
		     meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
	if (group && (search->group != group || strcmp(key, c->entry->section) == 0))
		fail(c, c->entry->key_column, "'%s' does not belong in a section [%s NAME]", key,
		     c->entry->section);
}

/* A key is the long name of an option. One without an argument takes yes or no. */
static int parse_entry(void *arg, const struct config_entry *entry)
{
	struct configuration *c = arg;
	struct search search = { .key = entry->key, .suggestion = { .given = entry->key } };
	char *word;
	int err;

	c->entry = entry;
	if (entry->wrong)
		fail(c, entry->key_column, "%s", entry->wrong);
	if (!entry->key[0])
		return begin_section(c);
	find_key(c, &search);
	if (!search.takes_value && strcmp(entry->value, "no") == 0)
		return 0;
	if (!search.takes_value && strcmp(entry->value, "yes") != 0)
		fail(c, entry->value_column, "%s takes yes or no, not '%s'", entry->key,
		     entry->value);
	if (asprintf(&word, search.takes_value ? "--%s=%s" : "--%s", entry->key, entry->value) < 0)
		return -ENOMEM;
	err = keep_word(c->settings, word);
	return err < 0 ? err : parse_word(c, word);
}

/* fd: of its text, or -1. */
static FILE *open_file(const char *path, int fd)
{
	char text[32];

	snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);
	return fopen(fd < 0 ? path : text, "re");
}

static int parse_file(struct agent_settings *s, const char *path, int fd)
{
	struct configuration c = { .settings = s, .path = path };
	_cleanup_fclose_ FILE *file = open_file(path, fd);
	int err = file ? config_read(file, parse_entry, &c) : -errno;

	if (err < 0)
		log_error("cannot read %s: %s", path, strerror(-err));
	else
		end_section(&c);
	backend_settings_end(&s->backends);
	return err;
}

static void init(struct agent_settings *s, char **shown)
{
	options_init(&s->options, shown);
	s->config_fd = -1;
	s->options.record.profiler.hz = AGENT_HZ;
	s->agent.interval_ns = AGENT_INTERVAL_NS;
	s->agent.deliver_ns = AGENT_DELIVER_NS;
	s->agent.spool_size = AGENT_SPOOL_SIZE;
	s->agent.store_limits = (struct store_limits){ AGENT_STORE_SIZE, AGENT_STORE_AGE_NS };
	s->agent.memory = AGENT_MEMORY;
	s->agent.run.symbol_memory = s->agent.run.string_memory = AGENT_NAMES_MEMORY;
	s->label_sets = AGENT_LABEL_SETS;
}

/* Parsing changes words and their order, and the options point to them. */
static int parse_line(struct agent_settings *s, int argc, char **argv, bool is_partial)
{
	_cleanup_free_ char **line = calloc((size_t)argc + 1, sizeof(*line));
	int err = line ? 0 : -ENOMEM;

	for (int i = 0; err == 0 && i < argc; i++) {
		err = keep_word(s, strdup(argv[i]));
		if (err == 0)
			line[i] = s->words[s->n_words - 1];
	}
	if (err < 0)
		return err;
	s->is_partial = is_partial;
	command_parse(&command_agent, argc, line, s);
	return 0;
}

DEFINE_CLEANUP(struct agent_settings *, agent_settings_free)
DEFINE_CLEANUP(char **, masked_line_free)

int agent_settings_new(int argc, char **argv, int config_fd, struct agent_settings **ret)
{
	/* The first only tells the file, which comes before the rest of the command line. */
	_cleanup_(agent_settings_freep) struct agent_settings *first = calloc(1, sizeof(*first));
	_cleanup_(agent_settings_freep) struct agent_settings *s = calloc(1, sizeof(*s));
	/* Recordings, and comments of profiles, have it. */
	_cleanup_(masked_line_freep) char **shown = masked_line_new(argv - 1);
	int err;

	*ret = NULL;
	if (!first || !s || !shown)
		return -ENOMEM;
	init(first, shown);
	init(s, shown);
	err = parse_line(first, argc, argv, true);
	if (err == 0 && first->config)
		err = parse_file(s, first->config, config_fd < 0 ? first->config_fd : config_fd);
	if (err == 0)
		err = parse_line(s, argc, argv, false);
	if (err == 0)
		*ret = steal_ptr(s);
	return err;
}

struct agent_settings *agent_settings_free(struct agent_settings *s)
{
	if (!s)
		return NULL;
	options_done(&s->options);
	backend_settings_done(&s->backends);
	for (size_t i = 0; i < s->n_words; i++)
		free(s->words[i]);
	free(s->words);
	free(s);
	return NULL;
}
