/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_PROFILER_H
#define DP_PROFILER_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "kernel/event.h"
#include "kernel/pool.h"
#include "kernel/run_stats.h"
#include "process/target.h"
#include "profiler/event.h"
#include "report/report_queue.h"
#include "samples/labels.h"

struct cpu_budget;
struct loop;
struct names;
struct parsers;
struct thread_set;

/*
 * Samples processes and passes the samples to reports:
 *
 *   profiler_open()      loads the programs into the kernel
 *   profiler_attach()    builds the unwind tables of the targets
 *   profiler_describe()  describes the run, for the host to make its reports
 *   profiler_start()     starts sampling
 *   profiler_run()       repeatedly: passes samples to the reports
 *   profiler_stop()      stops sampling
 *   profiler_finish()    passes the last samples; then the host finishes its reports
 *   profiler_free()      leaves nothing in the kernel
 *
 * If the source of its event needs no BPF program, there is no session, and nothing is sampled: the
 * host takes stacks itself.
 *
 *   profiler_open(), profiler_attach()
 *   profiler_lend()      so that a set of threads finds their processes and tables
 *   profiler_describe(), profiler_free()
 *
 * The host calls all functions from one thread. After a failure only profiler_free() may be called;
 * it may be called at any stage. The profiler handles no signals. It starts the processes that parse
 * files (sandbox/parsers.h), and waits only for these.
 */
struct profiler;

/* The default mean of allocated bytes per sample, and its maximum. */
#define ALLOC_INTERVAL (512u << 10)
#define ALLOC_GREATEST_INTERVAL (1u << 30)
/* Defaults: samples per second and CPU; frames of a stack. */
#define PROFILER_HZ 99
#define PROFILER_FRAMES 1024
/* The default of the shortest time off the CPU: what is shorter is nearly always an immediate wake-up. */
#define PROFILER_MIN_BLOCK_NS 1000

/* The native frames of interpreters. */
enum native_frames {
	NATIVE_FRAMES_FOLD, /* replaced by the functions that they execute */
	NATIVE_FRAMES_ALL,  /* beside these */
	NATIVE_FRAMES_ONLY, /* and no such functions */
};

/* What to sample, and how. */
struct profiler_options {
	struct target target;

	struct event event;
	struct event others[EVENT_MAX - 1]; /* sampled, too: if all has_period */
	size_t n_others;
	unsigned int hz; /* for sources that are sampled at a rate */
	unsigned int
		period; /* instead, events per sample, for sources that take one; 0: not given */
	enum dp_sides sides;
	unsigned int states;   /* of blocked threads: bits by enum dp_state */
	uint64_t min_block_ns; /* shorter and longer blocks are left out */
	uint64_t max_block_ns;
	unsigned int
		alloc_interval; /* of event_alloc, in bytes: as dp_alloc_interval (bpf/alloc.bpf.h) */
	struct own_number numbers[EVENT_MAX]; /* of which each event may have one, or one all */
	size_t n_numbers;
	/* Probes whose calls label samples (label_probe.h), not with an event that is a probe */
	const char *label_probes[DP_MAX_LABEL_PROBES];
	size_t n_label_probes;
	/*
	 * Where to listen for probes to add (probe_server.h), not with an event or label that is a probe;
	 * or NULL
	 */
	const char *probe_socket;
	bool process_metrics;  /* samples have labels of what their process uses */
	bool crashes;          /* sampled, too, beside one event of another kind */
	unsigned int max_rate; /* samples per process and second; 0: no limit */

	struct label_sources label_sources; /* the host's, in addition to the built-in ones */

	enum dp_unwind unwind;
	unsigned int max_frames;
	enum native_frames native_frames;
	unsigned int verify;       /* of every Nth sample; 0: none */
	const char *btf;           /* a file with the kernel's types (kernel_types.h), or NULL */
	uint64_t table_memory;     /* bytes, from POOL_MIN_ to POOL_MAX_MEMORY */
	bool cache;                /* keep tables and names on disk */
	bool symbols;              /* reports need names */
	const char *helper;        /* the program for parsers_new(); NULL: files are parsed here */
	enum sandbox_mode sandbox; /* OFF as without a helper, with which REQUIRE fails */
	struct cpu_budget *cpu_budget; /* the host's, of these processes; NULL: no limit */
	struct names *names; /* its options set the form of names; not to be shared meanwhile */

	/*
	 * May be NULL. Called while tables are awaited and probes are set: does the user want it to end? Before
	 * sampling, that is -ECANCELED; at its end, the wait is short.
	 */
	bool (*is_interrupted)(const void *arg);
	const void *interrupt_arg;
};

/* All events that are sampled. */
static inline size_t profiler_n_events(const struct profiler_options *o)
{
	return 1 + o->n_others;
}

static inline const struct event *profiler_event(const struct profiler_options *o, size_t i)
{
	return i == 0 ? &o->event : &o->others[i - 1];
}

/*
 * Loads the programs and creates the maps. The options and all they point to must outlive the
 * profiler. On failure, logs what is wrong, what is needed and what to type, and returns a negative
 * errno: -EPERM if a permission is missing, -EOPNOTSUPP if the kernel lacks a feature; or, as targets
 * may be looked up meanwhile, what profiler_attach() returns.
 */
int profiler_open(const struct profiler_options *options, struct profiler **ret);

/*
 * Builds the tables of the targets. launched: the process that will execute target.command, or 0.
 * Logs errors. 0 or a negative errno: -ESRCH if a target does not exist, -EPERM if it may not be
 * inspected, -ECANCELED if interrupted.
 */
int profiler_attach(struct profiler *profiler, pid_t launched);

/*
 * Sets whose threads a set takes (thread_set.h): those of the processes that are attached. The
 * profiler must outlive it.
 */
void profiler_lend(struct profiler *profiler, struct thread_set *set);

/* Reads the mappings of these processes again, and waits for the tables of what is new. */
void profiler_look_again(struct profiler *profiler);

/*
 * Fills in the context of reports, except `command`. The strings belong to the profiler and live as
 * long; the event's name is set when sampling starts.
 */
void profiler_describe(struct profiler *profiler, struct report_context *ret);

/*
 * Starts sampling. The reports stay the host's, but another thread uses them until
 * profiler_finish(). names: a report needs names while it receives samples (report_format.streams).
 * Logs errors. 0 or a negative errno: -EINVAL if there is no session.
 */
int profiler_start(struct profiler *profiler, struct report **reports, size_t n, bool names);

/* What parses foreign files; NULL: this process does. */
struct parsers *profiler_parsers(struct profiler *profiler);

/* Returns the event loop of profiler_run(). The host may add descriptors. */
struct loop *profiler_loop(struct profiler *profiler);

/*
 * Waits until a time (CLOCK_MONOTONIC) or until there is work, at most a second, and does the work.
 * Call it again at once. 0, or a negative errno, also of a report or of a callback of the loop.
 */
int profiler_run(struct profiler *profiler, uint64_t until_ns);

/* Does any target still run? */
bool profiler_has_targets(struct profiler *profiler);

/* Tells the reports that an interval has ended, after the samples so far. 0 or negative errno. */
int profiler_tick(struct profiler *profiler);

/*
 * Replaces report number i. Samples from before this moment go to the old report, later ones to the
 * new one, none to both. When the old report has all its samples, `fn` is called for it, with its
 * totals: by another thread, at least some ten milliseconds later, or in profiler_finish(). -EBUSY:
 * the previous replacement is not complete. ret_ns: the moment (CLOCK_MONOTONIC).
 */
int profiler_take(struct profiler *profiler, size_t i, struct report *report, report_taken_fn fn,
		  void *arg, uint64_t *ret_ns);

/* Returns the totals since report number i was installed. Only after profiler_finish(). */
struct totals profiler_totals_of(const struct profiler *profiler, size_t i);

/* Returns the time when sampling began (CLOCK_MONOTONIC). */
uint64_t profiler_started(const struct profiler *profiler);

/* Returns the totals so far; they are complete after profiler_finish(). */
const struct totals *profiler_totals(const struct profiler *profiler);

/* What a profiler has in the kernel. */
struct profiler_usage {
	uint64_t table_bytes, table_limit; /* of the pool of tables and snapshots */
	uint64_t tables_made, tables_freed, tables_evicted;
	struct run_stats programs;
};

struct profiler_usage profiler_usage(const struct profiler *profiler);

/* Stops sampling. */
void profiler_stop(struct profiler *profiler);

/*
 * Waits until the reports have all samples. Warns of what is missing. 0, or a report's negative
 * errno.
 */
int profiler_finish(struct profiler *profiler);

/*
 * Returns the number of the targets' threads that were blocked from before the start of sampling to
 * its end, and so are in no report; 0 if unknown.
 */
size_t profiler_n_unseen(const struct profiler *profiler);

/* Logs, at debug level, the cost of tables and the results of verification. */
void profiler_log(struct profiler *profiler);

/* Drops samples that are not in a report yet. Accepts NULL. Returns NULL. */
struct profiler *profiler_free(struct profiler *profiler);

#endif
