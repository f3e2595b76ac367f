// SPDX-License-Identifier: Apache-2.0
#include "name_options.h"

#include <string.h>

#include "base/array.h"
#include "fetch.h"
#include "image_cache.h"
#include "log.h"
#include "module.h"
#include "quantity.h"

enum {
	OPTION_DEBUGINFOD_TIMEOUT = 1024,
	OPTION_DEMANGLE,
	OPTION_NO_CACHE,
	OPTION_NO_DEBUGINFOD,
	OPTION_NO_INLINE,
	OPTION_NO_LINES,
	OPTION_NO_SYMBOLS,
	OPTION_SYMFS,
};

static const struct argp_option argp_options[] = {
	{ "symfs", OPTION_SYMFS, "DIR", 0,
	  "look for the binaries below this directory first, by their paths or their names alone",
	  1 },
	{ "no-symbols", OPTION_NO_SYMBOLS, NULL, 0, "addresses only, no names", 1 },
	{ "no-inline", OPTION_NO_INLINE, NULL, 0, "no functions that were inlined", 1 },
	{ "no-lines", OPTION_NO_LINES, NULL, 0, "no source files and lines", 1 },
	{ "demangle", OPTION_DEMANGLE, "STYLE", 0,
	  "names of C++, Rust and D: simple, without parameters; full; none, as linkers have them "
	  "(simple)",
	  1 },
	{ "no-debuginfod", OPTION_NO_DEBUGINFOD, NULL, 0,
	  "ask no server for debug files, whatever DEBUGINFOD_URLS says", 1 },
	{ "debuginfod-timeout", OPTION_DEBUGINFOD_TIMEOUT, "TIME", 0,
	  "how long servers may take for all files together (60s)", 1 },
	{ "no-cache", OPTION_NO_CACHE, NULL, 0,
	  "take no names from disk, and keep none for the next time", 1 },
	{ "verbose", 'v', NULL, 0, "say what is going on", 1 },
	{ 0 },
};

void name_options_parse_demangle(struct names_options *names, struct argp_state *state,
				 const char *text)
{
	static const char *const styles[] = {
		[NAMES_DEMANGLE_SIMPLE] = "simple",
		[NAMES_DEMANGLE_NONE] = "none",
		[NAMES_DEMANGLE_FULL] = "full",
	};

	for (size_t i = 0; i < ARRAY_SIZE(styles); i++) {
		if (strcmp(text, styles[i]) == 0) {
			names->demangle = (enum names_demangle)i;
			return;
		}
	}
	argp_error(state, "--demangle takes simple, none or full, not '%s'", text);
}

void name_options_parse_timeout(struct names_options *names, struct argp_state *state,
				const char *text)
{
	if (quantity_parse_duration(text, &names->debuginfod_ns) < 0)
		argp_error(state, "--debuginfod-timeout takes a time such as 30s or 5m, not '%s'",
			   text);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct name_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		o->names.debuginfod_ns = NAMES_DEBUGINFOD_NS;
		return 0;
	case OPTION_NO_DEBUGINFOD:
		o->names.no_debuginfod = true;
		return 0;
	case OPTION_DEBUGINFOD_TIMEOUT:
		name_options_parse_timeout(&o->names, state, arg);
		return 0;
	case OPTION_NO_CACHE:
		o->no_cache = true;
		return 0;
	case OPTION_SYMFS:
		o->root = arg;
		return 0;
	case OPTION_NO_SYMBOLS:
		o->no_symbols = true;
		o->names.none = true;
		return 0;
	case OPTION_NO_INLINE:
		o->names.no_inlines = true;
		return 0;
	case OPTION_NO_LINES:
		o->names.no_lines = true;
		return 0;
	case OPTION_DEMANGLE:
		name_options_parse_demangle(&o->names, state, arg);
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp name_options_argp = { .options = argp_options, .parser = parse_option };

static void keep_names(void)
{
	struct disk_cache cache;

	if (image_cache_open_default(&cache))
		module_set_cache(&cache);
}

void name_options_apply(const struct name_options *o)
{
	if (o->verbose)
		log_set_level(LOG_DEBUG);
	names_set_options(&o->names);
	if (!o->no_cache && !o->no_symbols)
		keep_names();
	fetch_begin();
}

void name_options_done(void)
{
	module_set_cache(NULL);
}
