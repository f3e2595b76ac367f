/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_STORES_H
#define DP_PROFILER_STORES_H

#include <sys/types.h>

#include "binaries/binary_store.h"
#include "binaries/image_cache.h"
#include "process/process_table.h"

struct profiler_options;
struct session;

/* Known processes and their binaries, with their unwind tables. */
struct stores {
	struct parsers *parsers;         /* NULL: files are parsed in this process */
	struct names *named;             /* whose reader namers are, or NULL */
	struct fetchers *fetchers;       /* NULL: memory is read in this process */
	struct fetchers *name_fetchers;  /* of the thread that looks up names */
	struct list_fetchers *lists;     /* NULL: lists of mappings are read in this process */
	struct thread_keys *thread_keys; /* what processes say of themselves */
	struct process_metrics *metrics; /* what they use; NULL: nobody asks */
	struct pool *pool;               /* the session's, or the own one */
	struct pool own_pool;    /* in the memory of this process: the kernel does not read it */
	struct disk_cache cache; /* in use if binaries.cache points to it */
	struct binary_store binaries;
	struct process_table table;
	bool has_targets;    /* stores_add_targets() has succeeded */
	struct names *names; /* owned by the host */
};

/*
 * Starts the parsers, preferably before this process holds anything that they must not inherit. `ret` is zeroed.
 * stores_end() ends them, after stores_done() if there was a stores_init(). They start while the caller
 * prepares sampling; then stores_check() waits for what options->sandbox requires. Both return 0, or
 * -EOPNOTSUPP, logged, if that cannot be had.
 */
int stores_begin(struct stores *ret, const struct profiler_options *options);
int stores_check(struct stores *stores, const struct profiler_options *options);
void stores_end(struct stores *stores);

/*
 * Places tables in the session's pool and publishes processes to it; NULL: there is no session, and
 * only this process walks stacks. Starts threads that make tables. `ret` must not move.
 */
void stores_init(struct stores *ret, const struct profiler_options *options,
		 struct session *session);
void stores_done(struct stores *stores);

/*
 * Adds what is to be profiled (target_add()), or what a command that has not begun will map: threads make
 * the tables, while the caller prepares sampling. Nothing is published yet, and only the vDSO's table is
 * placed. 0, -ECANCELED if options->is_interrupted() says so, or what target_add() returns.
 */
int stores_add_targets(struct stores *stores, const struct profiler_options *options);

/*
 * Waits for tables that are being made, so that walks find them, and applies them to processes; they
 * are still to be published. Leaves slow ones to the threads: a file may never answer, and the
 * other ones are wanted.
 */
void stores_settle(struct stores *stores);

/* The same after reading mappings again. If tables were left to the threads before, waits only briefly. */
void stores_look_again(struct stores *stores);

#endif
