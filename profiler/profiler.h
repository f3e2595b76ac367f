/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_PROFILER_H
#define DP_PROFILER_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/profiler_options.h"
#include "report/report_queue.h"

struct loop;
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

/* Is any target still running? */
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
