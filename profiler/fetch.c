// SPDX-License-Identifier: Apache-2.0
#include "profiler/fetch.h"

#include <string.h>

#include "limits/limits.h"
#include "log/log.h"
#include "sandbox/cpu_budget.h"
#include "symbols/debug_queue.h"
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

static uint64_t rest_ns(void *arg)
{
	return cpu_budget_rest_ns(arg, CPU_BUDGET_FETCHES);
}

static void spend(void *arg, uint64_t cpu_ns)
{
	cpu_budget_spend(arg, CPU_BUDGET_FETCHES, cpu_ns);
}

static void drop(void *arg)
{
	cpu_budget_drop(arg);
}

int fetch_begin_meanwhile(struct names *names, struct cpu_budget *budget,
			  struct debug_queue_counts *counts)
{
	const struct debug_queue_limits limits = {
		.request_ns = names_options(names)->debuginfod_ns,
		.absent_ns = DEBUG_QUEUE_ABSENT_NS,
		.max_size = DEBUG_FILE_MAX,
		.max_kept = DEBUG_FILES_MAX_KEPT,
		.pause_ns = rest_ns,
		.spend = spend,
		.drop = drop,
		.arg = cpu_budget_hold(budget),
		.counts = counts,
	};

	return debug_server_allow_meanwhile(names_debug_server(names), &limits);
}

void fetch_look(struct names *names, struct fetch_said *said)
{
	struct debug_server_totals totals = debug_server_totals(names_debug_server(names));
	bool fails = totals.server_err < 0;

	if (totals.error && !said->cannot)
		log_warning("debuginfod is set, but %s: no debug files are fetched", totals.error);
	said->cannot |= totals.error != NULL;
	if (totals.file_err != said->file_err)
		log_warning("debuginfod: cannot get a debug file: %s", strerror(-totals.file_err));
	said->file_err = totals.file_err;
	if (fails && !said->fails)
		log_warning("debuginfod: no server answers (%s): names that only debug files have "
			    "are missing",
			    strerror(-totals.server_err));
	else if (!fails && said->fails)
		log_info("debuginfod: a server answers again");
	said->fails = fails;
}
