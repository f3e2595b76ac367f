// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stddef.h>

#include "agent/figures.h"
#include "agent/own_use.h"
#include "base/array.h"
#include "report/outcome.h"
#include "symbols/debug_queue.h"

enum kind { COUNTER, GAUGE, SUMMARY };

/* A family; a counter's samples have the suffix _total. */
static void put_family(FILE *to, const char *name, enum kind kind, const char *unit,
		       const char *help)
{
	static const char *const words[] = { "counter", "gauge", "summary" };

	fprintf(to, "# TYPE dwarfprof_%s %s\n", name, words[kind]);
	if (unit)
		fprintf(to, "# UNIT dwarfprof_%s %s\n", name, unit);
	fprintf(to, "# HELP dwarfprof_%s %s\n", name, help);
}

static void put(FILE *to, const char *name, enum kind kind, const char *unit, const char *help,
		uint64_t value)
{
	put_family(to, name, kind, unit, help);
	fprintf(to, "dwarfprof_%s%s %" PRIu64 "\n", name, kind == COUNTER ? "_total" : "", value);
}

static void put_seconds(FILE *to, const char *name, const char *help, uint64_t ns)
{
	put_family(to, name, COUNTER, "seconds", help);
	fprintf(to, "dwarfprof_%s_total %.3f\n", name, (double)ns / 1e9);
}

static void put_totals(const struct totals *t, FILE *to)
{
	put(to, "samples", COUNTER, NULL, "Samples taken.", t->samples);
	put(to, "events", COUNTER, NULL, "Events that the samples stand for.", t->events);
	put_family(to, "samples_lost", COUNTER, NULL,
		   "Samples lost, by reason: no room in the kernel's rings, or in front of the "
		   "reports; too many at once on a CPU; left out by its tracer; damaged.");
	for (enum lost_reason i = 0; i < LOST_N_REASONS; i++)
		fprintf(to, "dwarfprof_samples_lost_total{reason=\"%s\"} %" PRIu64 "\n",
			lost_reason_word(i), t->lost_by[i]);
	put_family(to, "stacks", COUNTER, NULL, "Samples by how far their user stack was walked.");
	for (int i = 0; i < DP_N_OUTCOMES; i++)
		if (i != DP_WALKING)
			fprintf(to, "dwarfprof_stacks_total{outcome=\"%s\"} %" PRIu64 "\n",
				outcome_word(i), t->outcomes[i]);
	put(to, "stacks_walked_late", COUNTER, NULL, "Stacks walked in user space.",
	    t->finished_late);
	put(to, "labels_cut", COUNTER, NULL, "Samples that lack some of their labels.",
	    t->cut_labels);
	put(to, "stack_pages_read", COUNTER, NULL, "Stack pages that were not in memory.",
	    t->pages_requested);
}

static void put_tables(const struct profiler_usage *u, FILE *to)
{
	put(to, "table_memory_bytes", GAUGE, "bytes", "Kernel memory of unwind tables.",
	    u->table_bytes);
	put(to, "table_memory_limit_bytes", GAUGE, "bytes", "Its limit, --table-memory.",
	    u->table_limit);
	put(to, "tables_made", COUNTER, NULL, "Unwind tables made by the present run.",
	    u->tables_made);
	put(to, "tables_from_cache", COUNTER, NULL, "Those of them that were read from the cache.",
	    u->tables_from_cache);
	put(to, "tables_freed", COUNTER, NULL, "Tables of binaries that nobody maps.",
	    u->tables_freed);
	put(to, "tables_evicted", COUNTER, NULL, "Tables removed for lack of memory.",
	    u->tables_evicted);
}

static void put_symbols(const struct names_kept *kept, FILE *to)
{
	put(to, "symbol_memory_bytes", GAUGE, "bytes",
	    "Memory of what is known of addresses in binaries.", kept->symbols);
	put(to, "symbol_memory_limit_bytes", GAUGE, "bytes", "Its limit, --symbol-memory.",
	    kept->max_symbols);
	put(to, "string_memory_bytes", GAUGE, "bytes", "Memory of the names that these have.",
	    kept->strings);
	put(to, "string_memory_limit_bytes", GAUGE, "bytes", "Its limit, --string-memory.",
	    kept->max_strings);
	put(to, "symbols_freed", COUNTER, NULL,
	    "Binaries of which both were freed for lack of memory, by the present run.",
	    kept->n_forgotten);
}

static void put_programs(const struct run_stats *programs, FILE *to)
{
	put_family(to, "walk_seconds", SUMMARY, "seconds",
		   "Runs of the present run's programs in the kernel, which walk stacks, and their "
		   "time; counted only while the sysctl kernel.bpf_stats_enabled is 1.");
	fprintf(to, "dwarfprof_walk_seconds_count %" PRIu64 "\ndwarfprof_walk_seconds_sum %.6f\n",
		programs->runs, (double)programs->time_ns / 1e9);
}

static void put_own_use(FILE *to)
{
	struct own_use use[2];
	static const char *const who[] = { "agent", "helpers" };

	own_use_read(&use[0], &use[1]);
	put_family(to, "cpu_seconds", COUNTER, "seconds",
		   "CPU time of the agent, and of all helpers that it has had.");
	for (int i = 0; i < 2; i++)
		fprintf(to, "dwarfprof_cpu_seconds_total{process=\"%s\"} %.2f\n", who[i],
			use[i].cpu_seconds);
	put_family(to, "resident_memory_bytes", GAUGE, "bytes", "Resident memory.");
	for (int i = 0; i < 2; i++)
		fprintf(to, "dwarfprof_resident_memory_bytes{process=\"%s\"} %" PRIu64 "\n", who[i],
			use[i].resident_bytes);
	put_family(to, "private_memory_bytes", GAUGE, "bytes", "Memory that is in no file.");
	for (int i = 0; i < 2; i++)
		fprintf(to, "dwarfprof_private_memory_bytes{process=\"%s\"} %" PRIu64 "\n", who[i],
			use[i].private_bytes);
}

static void put_store(const struct store_state *s, FILE *to)
{
	put(to, "store_recordings", GAUGE, NULL, "Recordings in the store.", s->n);
	put(to, "store_bytes", GAUGE, "bytes", "Their size.", s->size);
	put(to, "store_recordings_removed", COUNTER, NULL, "Recordings removed by the limits.",
	    s->n_removed);
	put(to, "store_removed_bytes", COUNTER, "bytes", "Their size.", s->size_removed);
}

/* As a label's value: it may have been written by anyone. */
static void put_label(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', to);
		fputc((unsigned char)*text < ' ' ? '?' : *text, to);
	}
}

static void put_backends(const struct figures *f, FILE *to)
{
#define COUNT(member) offsetof(struct backend_counts, member)
	static const struct {
		const char *name, *unit, *help;
		enum kind kind;
		size_t offset;
	} rows[] = {
		{ "samples_filtered", NULL, "Samples that rules drop.", COUNTER, COUNT(filtered) },
		{ "samples_folded", NULL, "Samples of too many sets of labels.", COUNTER,
		  COUNT(folded) },
		{ "delivered", NULL, "Requests delivered.", COUNTER, COUNT(deliver.delivered) },
		{ "delivery_failed", NULL, "Requests given up.", COUNTER, COUNT(deliver.failed) },
		{ "delivery_dropped", NULL, "Requests without room in the spool.", COUNTER,
		  COUNT(deliver.dropped) },
		{ "delivery_retried", NULL, "Attempts after the first.", COUNTER,
		  COUNT(deliver.retried) },
		{ "profiles_rejected", NULL, "Profiles that a backend did not want.", COUNTER,
		  COUNT(deliver.rejected) },
		{ "spooled", NULL, "Requests that wait.", GAUGE, COUNT(deliver.spooled) },
		{ "spooled_bytes", "bytes", "Their size.", GAUGE, COUNT(deliver.spooled_bytes) },
		{ "sent_bytes", "bytes", "Bytes delivered.", COUNTER, COUNT(deliver.sent_bytes) },
		{ "delivered_events", NULL, "Events of samples in delivered requests.", COUNTER,
		  COUNT(deliver.delivered_events) },
		{ "delivery_failed_events", NULL, "Those in requests given up.", COUNTER,
		  COUNT(deliver.failed_events) },
		{ "delivery_dropped_events", NULL, "Those in requests without room.", COUNTER,
		  COUNT(deliver.dropped_events) },
		{ "spooled_events", NULL, "Those in requests that wait.", GAUGE,
		  COUNT(deliver.spooled_events) },
	};
#undef COUNT

	for (size_t k = 0; f->n_backends > 0 && k < ARRAY_SIZE(rows); k++) {
		put_family(to, rows[k].name, rows[k].kind, rows[k].unit, rows[k].help);
		for (size_t i = 0; i < f->n_backends; i++) {
			fprintf(to, "dwarfprof_%s%s{backend=\"", rows[k].name,
				rows[k].kind == COUNTER ? "_total" : "");
			put_label(to, f->backends[i].name);
			fprintf(to, "\"} %" PRIu64 "\n",
				*(const uint64_t *)(const void *)((const char *)&f->backends[i]
									  .counts +
								  rows[k].offset));
		}
	}
}

/* Of each backend, as a summary without quantiles: Prometheus divides them over any time. */
static void put_latencies(const struct figures *f, FILE *to)
{
	put_family(to, "delivery_seconds", SUMMARY, "seconds",
		   "Time that backends took to take a request.");
	for (size_t i = 0; i < f->n_backends; i++) {
		const struct deliver_counts *c = &f->backends[i].counts.deliver;

		fputs("dwarfprof_delivery_seconds_count{backend=\"", to);
		put_label(to, f->backends[i].name);
		fprintf(to, "\"} %" PRIu64 "\ndwarfprof_delivery_seconds_sum{backend=\"",
			c->delivered);
		put_label(to, f->backends[i].name);
		fprintf(to, "\"} %.6f\n", (double)c->latency_ns / 1e9);
	}
}

static void put_kept(const struct figures *f, FILE *to)
{
	static const char *const words[SERIES_N_KEPT] = SERIES_KEPT_WORDS;

	put_family(to, "samples_kept", COUNTER, NULL,
		   "Samples by what they keep of their labels, beside the service.");
	for (size_t i = 0; i < f->n_backends; i++)
		for (enum series_kept kept = SERIES_ALL; kept < SERIES_N_KEPT; kept++) {
			fputs("dwarfprof_samples_kept_total{backend=\"", to);
			put_label(to, f->backends[i].name);
			fprintf(to, "\",kept=\"%s\"} %" PRIu64 "\n", words[kept],
				f->backends[i].counts.kept[kept]);
		}
}

static void put_fetches(const struct debug_queue_counts *fetched, FILE *to)
{
	put(to, "debug_files_found", COUNTER, NULL, "Requests of --debuginfod with a result.",
	    fetched->found);
	put(to, "debug_files_absent", COUNTER, NULL, "Those for files that no server has.",
	    fetched->absent);
	put(to, "debug_files_failed", COUNTER, NULL,
	    "Those that have failed, such as for lack of an answer.", fetched->failed);
}

void figures_write_metrics(const struct figures *f, FILE *to)
{
	put_family(to, "build", GAUGE, NULL, "The program's version.");
	fprintf(to, "dwarfprof_build{version=\"%s\"} 1\n", DP_VERSION);
	put_family(to, "start_time_seconds", GAUGE, "seconds", "When the agent started.");
	fprintf(to, "dwarfprof_start_time_seconds %.3f\n", (double)f->started_real_ns / 1e9);
	put(to, "healthy", GAUGE, NULL, "1 if samples are read.", f->is_healthy);
	put_totals(&f->totals, to);
	put(to, "sampling_rate_hertz", GAUGE, "hertz",
	    "Samples per second and CPU; 0: other events.", f->run.hz);
	put(to, "sampling_rate_asked_hertz", GAUGE, "hertz", "That of the configuration.",
	    f->asked_hz);
	put(to, "sampling_rate_lowered", COUNTER, NULL, "Times that it was halved.",
	    f->rate_lowered);
	put(to, "sampling_rate_raised", COUNTER, NULL, "Times that it was doubled again.",
	    f->rate_raised);
	put(to, "intervals_written", COUNTER, NULL, "Files of intervals.", f->intervals_written);
	put(to, "intervals_failed", COUNTER, NULL, "Files that could not be written.",
	    f->intervals_failed);
	put(to, "processes_unlabelled", COUNTER, NULL,
	    "Processes that ended before their cgroup was read, and whose cgroup is not known.",
	    f->processes_unlabelled);
	if (f->has_store)
		put_store(&f->store, to);
	put_backends(f, to);
	if (f->n_backends > 0) {
		put_latencies(f, to);
		put_kept(f, to);
	}
	put(to, "spooled_left", GAUGE, NULL,
	    "Requests that wait for backends that no agent delivers to.", f->left.n);
	put(to, "spooled_left_bytes", GAUGE, "bytes", "Their size.", f->left.bytes);
	put(to, "spooled_left_removed", COUNTER, NULL, "Those removed.", f->left.removed);
	put_tables(&f->run.usage, to);
	put_symbols(&f->run.kept, to);
	put_programs(&f->run.usage.programs, to);
	put_own_use(to);
	put_seconds(to, "budget_spent_seconds", "CPU time of tables and names under --cpu-budget.",
		    f->helpers_spent_ns);
	put_seconds(to, "budget_wait_seconds", "Time that tables and names have waited for it.",
		    f->helpers_waited_ns);
	put(to, "budget_refused", COUNTER, NULL,
	    "Look-ups of names left out, as their user has used up its part.", f->helpers_refused);
	if (f->fetched)
		put_fetches(f->fetched, to);
	put(to, "memory_limit_bytes", GAUGE, "bytes", "Limit of private memory; 0: none.",
	    f->memory_limit);
	put(to, "flame_graph_bytes", GAUGE, "bytes", "Memory of the last minute's flame graph.",
	    f->recent.size);
	put(to, "flame_graph_left_out", COUNTER, NULL, "Functions without room in it.",
	    f->recent.left_out);
	put(to, "renewals", COUNTER, NULL, "New runs because of that limit.", f->renewals);
	put(to, "reloads", COUNTER, NULL, "Configurations taken.", f->reloads);
	put(to, "reloads_failed", COUNTER, NULL, "Configurations refused.", f->reloads_failed);
	fputs("# EOF\n", to);
}
