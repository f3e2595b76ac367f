// SPDX-License-Identifier: Apache-2.0
#include "profiler/stores.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "binaries/prewarm.h"
#include "kernel/permission.h"
#include "kernel/session.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "process/process_list.h"
#include "profiler/confined.h"
#include "profiler/profiler_options.h"
#include "samples/process_metrics.h"
#include "samples/thread_keys.h"
#include "sandbox/fetchers.h"
#include "sandbox/list_fetchers.h"
#include "sandbox/parsers.h"
#include "symbols/name_reader.h"
#include "symbols/names.h"

/* How long tables are waited for if others do not get ready. */
#define LOOK_AGAIN_MS 500
/* Interval of calls to is_interrupted() while tables are built. */
#define WAIT_MS 50

int stores_begin(struct stores *ret, const struct profiler_options *o)
{
	int err =
		confined_begin(o->sandbox, o->helper, o->symbols ? o->names : NULL, &ret->parsers);

	if (err < 0)
		return err;
	if (ret->parsers) {
		parsers_set_budget(ret->parsers, o->cpu_budget);
		if (o->names)
			parsers_tell_failures(ret->parsers, names_failures(o->names));
		parsers_prepare(ret->parsers);
	}
	ret->named = o->names;
	/* Without the capability, only this process may read the memory of its own children. */
	if (ret->parsers && permission_has(CAP_SYS_PTRACE)) {
		(void)fetchers_new(ret->parsers, &ret->fetchers);
		(void)fetchers_new(ret->parsers, &ret->name_fetchers);
		(void)list_fetchers_new(ret->parsers, &ret->lists);
	}
	(void)thread_keys_new(ret->parsers, permission_has(CAP_SYS_PTRACE), &ret->thread_keys);
	if (o->process_metrics)
		(void)process_metrics_new(&ret->metrics);
	/* Likewise, only this process may open what they have. */
	if (ret->parsers && permission_has(CAP_DAC_READ_SEARCH))
		(void)parsers_use_finders(ret->parsers);
	return 0;
}

int stores_check(struct stores *stores, const struct profiler_options *o)
{
	return confined_check(o->sandbox, stores->parsers);
}

void stores_end(struct stores *stores)
{
	if (stores->named)
		names_set_reader(stores->named, NULL, NULL);
	stores->named = NULL;
	stores->metrics = process_metrics_free(stores->metrics);
	stores->thread_keys = thread_keys_free(stores->thread_keys);
	stores->fetchers = fetchers_free(stores->fetchers);
	stores->name_fetchers = fetchers_free(stores->name_fetchers);
	stores->lists = list_fetchers_free(stores->lists);
	stores->parsers = parsers_drop(stores->parsers);
}

static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	*ret = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	return *ret ? 0 : -ENOMEM;
}

static int publish(void *session, pid_t pid, uint32_t cell)
{
	return session ? session_publish(session, pid, cell) : 0;
}

void stores_init(struct stores *ret, const struct profiler_options *o, struct session *session)
{
	struct pool *pool = session ? &session->pool : &ret->own_pool;

	pool_init(&ret->own_pool, add_segment, NULL);
	ret->own_pool.max_segments = o->table_memory / DP_SEGMENT_SIZE;
	ret->pool = pool;
	ret->names = o->names;
	binary_store_init(&ret->binaries, pool, o->names);
	ret->binaries.symbols = o->symbols;
	ret->binaries.parsers = ret->parsers;
	ret->binaries.cpu_budget = o->cpu_budget;
	if (o->cache)
		ret->binaries.cache = image_cache_open_default(&ret->cache);
	if (o->symbols)
		image_cache_keep_names(ret->binaries.cache, o->names);
	process_table_init(&ret->table, pool, &ret->binaries, publish, session);
	ret->table.fetchers = ret->fetchers;
	ret->table.name_fetchers = ret->name_fetchers;
	ret->table.lists = ret->lists;
	ret->table.inherit = o->target.inherit;
	ret->table.not_inherited = parsers_spawner(ret->parsers);
	ret->table.no_binaries = o->sides == DP_SIDES_KERNEL;
	binary_store_start_workers(&ret->binaries);
}

void stores_done(struct stores *stores)
{
	process_table_done(&stores->table);
	binary_store_done(&stores->binaries);
	if (stores->binaries.cache)
		disk_cache_close(&stores->cache);
	names_set_cache(stores->names, NULL);
	for (size_t i = 0; i < stores->own_pool.n_segments; i++)
		free(stores->own_pool.segments[i]);
	pool_done(&stores->own_pool);
}

int stores_add_targets(struct stores *stores, const struct profiler_options *o)
{
	struct binary_store *binaries = &stores->binaries;
	int err = 0;

	if (stores->has_targets)
		return 0;
	binaries->is_interrupted = o->is_interrupted;
	binaries->interrupt_arg = o->interrupt_arg;
	if (!o->target.command)
		err = target_add(&stores->table, &o->target);
	else if (!stores->table.no_binaries)
		prewarm_command(binaries, o->target.command[0]);
	binaries->is_interrupted = NULL;
	stores->has_targets = err == 0;
	return err;
}

void stores_settle(struct stores *stores)
{
	struct binary_store *binaries = &stores->binaries;
	uint64_t ended = clock_now_ns();

	while (binaries->n_jobs > 0 && !binary_store_is_cancelled(binaries) &&
	       clock_now_ns() - ended < TABLES_PATIENCE_NS)
		if (binary_store_wait(binaries, WAIT_MS))
			ended = clock_now_ns();
	process_table_settle(&stores->table);
	hotspot_settle(&stores->table);
	jit_objects_settle(&stores->table);
}

void stores_look_again(struct stores *stores)
{
	/* Some tables have been waited for already. */
	bool is_slow = stores->binaries.n_jobs > 0;

	process_table_resync(&stores->table, clock_now_ns());
	process_lists_settle(&stores->table);
	if (!is_slow) {
		stores_settle(stores);
		return;
	}
	(void)binary_store_wait(&stores->binaries, LOOK_AGAIN_MS);
	process_table_settle(&stores->table);
}
