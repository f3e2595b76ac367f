// SPDX-License-Identifier: Apache-2.0
#include "cli/name_options.h"

#include <linux/capability.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "binaries/image_cache.h"
#include "cli/time_argument.h"
#include "cli/quantity.h"
#include "cli/sandbox_options.h"
#include "cli/server_cache.h"
#include "kernel/permission.h"
#include "log/clock.h"
#include "log/log.h"
#include "profiler/confined.h"
#include "profiler/fetch.h"
#include "sandbox/helper.h"
#include "sandbox/keeper.h"
#include "sandbox/parsers.h"
#include "symbols/debug_library.h"
#include "symbols/debug_server.h"

enum {
	OPTION_DEBUGINFOD_TIMEOUT = 1024,
	OPTION_DEMANGLE,
	OPTION_FROM,
	OPTION_NO_CACHE,
	OPTION_NO_DEBUGINFOD,
	OPTION_NO_INLINE,
	OPTION_NO_LINES,
	OPTION_NO_SYMBOLS,
	OPTION_SANDBOX,
	OPTION_SYMFS,
	OPTION_TO,
};

static const struct argp_option name_argp_options[] = {
	{ "no-symbols", OPTION_NO_SYMBOLS, NULL, 0, "addresses only, no names", 4 },
	{ "no-inline", OPTION_NO_INLINE, NULL, 0, "leave out inlined functions", 4 },
	{ "no-lines", OPTION_NO_LINES, NULL, 0, "leave out source files and lines", 4 },
	{ "demangle", OPTION_DEMANGLE, "STYLE", 0,
	  "names of C++, Rust and D: simple, without parameters; full; none, as in symbol tables "
	  "(simple)",
	  4 },
	{ "no-debuginfod", OPTION_NO_DEBUGINFOD, NULL, 0,
	  "query no servers for debug files, even if DEBUGINFOD_URLS is set", 4 },
	{ "debuginfod-timeout", OPTION_DEBUGINFOD_TIMEOUT, "TIME", 0,
	  "time limit for all debug files together; in an agent, for each (60s)", 4 },
	{ "verbose", 'v', NULL, 0, "print details", 4 },
	{ 0 },
};

static const char *const styles[] = {
	[NAMES_DEMANGLE_SIMPLE] = "simple",
	[NAMES_DEMANGLE_NONE] = "none",
	[NAMES_DEMANGLE_FULL] = "full",
};

void name_options_list_styles(FILE *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++)
		fprintf(to, "%s%s", i ? ", " : "", styles[i]);
}

static void parse_demangle(struct names_options *options, struct argp_state *state,
			   const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++) {
		if (strcmp(text, styles[i]) == 0) {
			options->demangle = (enum names_demangle)i;
			return;
		}
	}
	argp_error(state, "--demangle takes simple, none or full, not '%s'", text);
}

static error_t parse_name_option(int key, char *arg, struct argp_state *state)
{
	struct name_options *names = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		/* The agent parses several times, into one structure. */
		if (names->options.debuginfod_ns == 0)
			names->options.debuginfod_ns = NAMES_DEBUGINFOD_NS;
		return 0;
	case OPTION_NO_SYMBOLS:
		names->options.none = true;
		return 0;
	case OPTION_NO_INLINE:
		names->options.no_inlines = true;
		return 0;
	case OPTION_NO_LINES:
		names->options.no_lines = true;
		return 0;
	case OPTION_DEMANGLE:
		parse_demangle(&names->options, state, arg);
		return 0;
	case OPTION_NO_DEBUGINFOD:
		names->options.no_debuginfod = true;
		return 0;
	case OPTION_DEBUGINFOD_TIMEOUT:
		names->has_timeout = true;
		if (quantity_parse_duration(arg, &names->options.debuginfod_ns) < 0)
			argp_error(state,
				   "--debuginfod-timeout takes a time such as 30s or 5m, not '%s'",
				   arg);
		return 0;
	case 'v':
		names->verbose = true;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp name_options_argp = { .options = name_argp_options, .parser = parse_name_option };

struct names *name_options_apply(const struct name_options *options)
{
	struct names *names;
	int err;

	if (options->verbose)
		log_set_level(LOG_DEBUG);
	err = options->options.no_debuginfod ? 0 :
					       debug_library_bound(options->options.debuginfod_ns);
	if (err == 0)
		err = names_new(&options->options, &names);
	if (err < 0) {
		log_error("cannot start: %s", strerror(-err));
		return NULL;
	}
	return names;
}

static const struct argp_option recording_argp_options[] = {
	{ "from", OPTION_FROM, "TIME", 0, "only samples from this time on: " TIME_ARGUMENT_HELP,
	  2 },
	{ "to", OPTION_TO, "TIME", 0, "only samples before this time", 2 },
	{ "symfs", OPTION_SYMFS, "DIR", 0,
	  "look for binaries in this directory first, by their paths or only their names", 3 },
	{ "no-cache", OPTION_NO_CACHE, NULL, 0, "do not use the cache of names on disk", 3 },
	{ "sandbox", OPTION_SANDBOX, "MODE", 0, SANDBOX_OPTIONS_HELP, 3 },
	{ 0 },
};

/* --to without a date is after --from, whichever was given first. */
static void complete_times(struct recording_names *r, struct argp_state *state)
{
	uint64_t now = clock_real_ns();

	if (r->from && time_argument_parse(r->from, now, 0, &r->from_ns) < 0)
		argp_error(state, "--from takes a time such as " TIME_ARGUMENT_HELP ", not '%s'",
			   r->from);
	if (r->to && time_argument_parse(r->to, now, r->from_ns, &r->to_ns) < 0)
		argp_error(state, "--to takes a time such as " TIME_ARGUMENT_HELP ", not '%s'",
			   r->to);
	if (r->to && r->to_ns <= r->from_ns)
		argp_error(state, "--to %s is not after --from %s", r->to, r->from);
}

static error_t parse_recording_option(int key, char *arg, struct argp_state *state)
{
	struct recording_names *recording = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &recording->names;
		return 0;
	case OPTION_FROM:
		recording->from = arg;
		return 0;
	case OPTION_TO:
		recording->to = arg;
		return 0;
	case ARGP_KEY_END:
		complete_times(recording, state);
		return 0;
	case OPTION_SYMFS:
		recording->root = arg;
		return 0;
	case OPTION_NO_CACHE:
		recording->no_cache = true;
		return 0;
	case OPTION_SANDBOX:
		if (sandbox_options_parse(arg, &recording->sandbox) < 0)
			argp_error(state, SANDBOX_OPTIONS_ERROR, arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child name_options[] = { { .argp = &name_options_argp }, { 0 } };

const struct argp recording_names_argp = {
	.options = recording_argp_options,
	.parser = parse_recording_option,
	.children = name_options,
};

/* Without names to look up, there may still be recordings to open (names_open_file()). */
static int start_parsers(const struct recording_names *recording, struct names *names)
{
	bool finds = permission_has(CAP_DAC_READ_SEARCH);
	struct parsers *parsers;
	int err;

	if (recording->names.options.none && !finds)
		return 0;
	err = confined_begin(recording->sandbox, HELPER_SELF, names, &parsers);
	if (err == 0)
		err = confined_check(recording->sandbox, parsers);
	if (err == 0 && parsers && finds)
		(void)parsers_use_finders(parsers);
	if (err == 0 && parsers)
		parsers_tell_failures(parsers, names_failures(names));
	parsers_drop(parsers); /* namers hold them */
	return err;
}

struct names *recording_names_apply(const struct recording_names *recording)
{
	struct names *names = name_options_apply(&recording->names);
	struct disk_cache cache;

	if (!names)
		return NULL;
	if (start_parsers(recording, names) < 0)
		return names_free(names);
	if (!recording->no_cache && !recording->names.options.none &&
	    image_cache_open_default(&cache))
		names_set_cache(names, &cache);
	fetch_begin(names);
	return names;
}

int recording_names_confine(const struct recording_names *recording, struct names *names)
{
	struct confine_reader reader = { 0 };
	_cleanup_close_ int servers = -1;
	int directories[2], cache = names_cache_directory(names);

	if (!keeper_is_there())
		return 0;
	reader.directories = directories;
	reader.asks_servers = !recording->names.options.none &&
			      debug_server_is_allowed(names_debug_server(names));
	if (reader.asks_servers)
		servers = server_cache_open();
	if (cache >= 0)
		directories[reader.n_directories++] = cache;
	if (servers >= 0)
		directories[reader.n_directories++] = servers;
	return confined_read(recording->sandbox, &reader);
}
