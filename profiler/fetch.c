// SPDX-License-Identifier: Apache-2.0
#include "profiler/fetch.h"

#include "log/log.h"
#include "symbols/debug_server.h"
#include "symbols/names.h"

static void show_progress(const char *path, long done)
{
	if (done > 0)
		log_progress(
			"fetching debug information of %s: %.1f MiB (Ctrl-C to leave names out)",
			path, (double)done / (1 << 20));
	else
		log_progress("asking for debug information of %s (Ctrl-C to leave names out)",
			     path);
}

void fetch_begin(struct names *names)
{
	const struct names_options *options = names_options(names);

	if (!options->no_debuginfod)
		debug_server_allow(names_debug_server(names), options->debuginfod_ns,
				   show_progress);
}

void fetch_end(struct names *names)
{
	struct debug_server *server = names_debug_server(names);
	struct debug_server_totals totals = debug_server_totals(server);

	debug_server_end(server);
	log_progress_clear();
	if (totals.error)
		log_warning("DEBUGINFOD_URLS is set, but %s: no debug files are fetched",
			    totals.error);
	if (totals.n_asked > 0)
		log_info("debuginfod: %u of %u debug files found", totals.n_found, totals.n_asked);
	if (totals.n_left_out > 0)
		log_warning(
			"no time was left for %u debug files: raise --debuginfod-timeout, or use "
			"--no-debuginfod",
			totals.n_left_out);
}
