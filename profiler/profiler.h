/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_PROFILER_H
#define DP_PROFILER_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "kernel/pool.h"
#include "process/target.h"
#include "profiler/event.h"
#include "report/report_queue.h"
#include "samples/labels.h"

struct loop;
struct names;

/*
 * Samples processes, and hands what it sees to reports:
 *
 *   profiler_open()      the programs are in the kernel
 *   profiler_attach()    and so are the unwind tables of the targets
 *   profiler_describe()  with that, the host makes its reports
 *   profiler_start()     sampling begins
 *   profiler_run()       again and again: samples go to the reports
 *   profiler_stop()      sampling ends
 *   profiler_finish()    all samples are in the reports, which the host finishes
 *   profiler_free()      nothing is left in the kernel
 *
 * All are called by one thread, the host's. profiler_free() is possible from everywhere; if a
 * function fails, nothing else is. The profiler handles no signal and starts no process.
 */
struct profiler;

/* What is usual. */
#define PROFILER_HZ 99
#define PROFILER_FRAMES 1024
/* What is shorter is nearly always a wake-up that came at once. */
#define PROFILER_MIN_BLOCK_NS 1000

/* What to sample, of whom, and how. */
struct profiler_options {
	struct target target;

	struct event event;
	unsigned int hz; /* of a source that is sampled at a rate */
	enum dp_sides sides;
	unsigned int states;   /* of blocked threads: bits by enum dp_state */
	uint64_t min_block_ns; /* blocks that are shorter or longer are left out */
	uint64_t max_block_ns;
	unsigned int max_rate; /* samples per process and second; 0: no limit */

	struct label_sources label_sources; /* the host's; beside those that there always are */

	enum dp_unwind unwind;
	unsigned int max_frames;
	unsigned int verify;   /* every so many samples; 0: none */
	const char *btf;       /* a file with the kernel's types (kernel_types.h), or NULL */
	uint64_t table_memory; /* bytes, from POOL_MIN_ to POOL_MAX_MEMORY */
	bool cache;            /* tables and names are kept on disk */
	bool symbols;          /* reports want names */
	struct names
		*names; /* whose options say what names look like; of no use to others meanwhile */

	/* NULL, or has the host enough? Asked while tables are made, before sampling begins. */
	bool (*is_interrupted)(const void *arg);
	const void *interrupt_arg;
};

/*
 * Load the programs and make the maps. The options and what they lead to must outlive the
 * profiler. Says what is wrong, what is needed and what to type, and returns a negative errno:
 * -EPERM if a permission is missing, -EOPNOTSUPP if the kernel cannot do it.
 */
int profiler_open(const struct profiler_options *options, struct profiler **ret);

/*
 * Make the tables of the targets. launched: of target.command, the process that will execute
 * it; else 0. Says what is wrong: 0 or a negative errno, -ESRCH if a target does not exist,
 * -EPERM if it may not be looked into, -ECANCELED if the host had enough.
 */
int profiler_attach(struct profiler *profiler, pid_t launched);

/*
 * What the reports are to know of the run; command is left to the host. The strings are the
 * profiler's, for as long as it lives; the event gets its name when sampling starts.
 */
void profiler_describe(struct profiler *profiler, struct report_context *ret);

/*
 * Start sampling for these reports, which stay the host's and are used by another thread until
 * profiler_finish(). names: one of them asks for names after that (report_format.streams).
 * Says what is wrong: 0 or a negative errno.
 */
int profiler_start(struct profiler *profiler, struct report **reports, size_t n, bool names);

/* What profiler_run() waits with. A host adds descriptors of its own. */
struct loop *profiler_loop(struct profiler *profiler);

/*
 * Wait until a time (CLOCK_MONOTONIC), or until there are samples to read or something else is
 * to be done, but for 100 ms at most; and do it. To be called again at once. 0, or a negative
 * errno: of a report or of a function of the loop, too.
 */
int profiler_run(struct profiler *profiler, uint64_t until_ns);

/* Is one of the targets still there? */
bool profiler_has_targets(struct profiler *profiler);

/* Tell the reports that an interval is over, after the samples so far. 0 or a negative errno. */
int profiler_tick(struct profiler *profiler);

/*
 * Have another report take the place of number i: samples of before this moment go to the one that
 * is there, samples of later ones to the new one, and none to both. `fn` is called for the old one
 * when it has them all, with what was counted while it was there: by another thread, some ten
 * milliseconds later or more, or in profiler_finish(). -EBUSY: it was not yet, of the one before.
 * ret_ns: the moment (CLOCK_MONOTONIC).
 */
int profiler_take(struct profiler *profiler, size_t i, struct report *report, report_taken_fn fn,
		  void *arg, uint64_t *ret_ns);

/* What was counted since report number i is there; after profiler_finish(). */
struct totals profiler_totals_of(const struct profiler *profiler, size_t i);

/* When sampling began (CLOCK_MONOTONIC). */
uint64_t profiler_started(const struct profiler *profiler);

/* What has been counted so far; all of it after profiler_finish(). */
const struct totals *profiler_totals(const struct profiler *profiler);

/* End sampling. */
void profiler_stop(struct profiler *profiler);

/*
 * Wait until all samples are in the reports. Warns of what was missing. 0, or the negative
 * errno of a report.
 */
int profiler_finish(struct profiler *profiler);

/*
 * Threads of the targets that were blocked from before sampling began until it ended, and
 * are in no report therefore; 0 if that is not known.
 */
size_t profiler_n_unseen(const struct profiler *profiler);

/* At debug level: what the tables took, and how verified stacks have compared. */
void profiler_log(struct profiler *profiler);

/* Samples that are not in a report yet are dropped. NULL is nothing. Returns NULL. */
struct profiler *profiler_free(struct profiler *profiler);

#endif
