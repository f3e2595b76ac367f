// SPDX-License-Identifier: Apache-2.0
#include "profiler/stores.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/permission.h"
#include "kernel/session.h"
#include "log/clock.h"
#include "log/log.h"
#include "profiler/profiler.h"
#include "sandbox/fetchers.h"
#include "sandbox/namers.h"
#include "sandbox/parsers.h"
#include "symbols/name_reader.h"
#include "symbols/names.h"

/* If no table is finished for this long, those that are missing are not waited for. */
#define TABLE_PATIENCE_NS UINT64_C(5000000000)
/* Interval of calls to is_interrupted() while tables are built. */
#define WAIT_MS 50

static int require(struct parsers *parsers, int err)
{
	struct confinement confinement = { 0 };
	char list[CONFINE_LIST_SIZE];

	if (err == 0)
		err = parsers_require(parsers, &confinement);
	if (err == 0 && !confinement.missing)
		return 0;
	log_error("parsers of files cannot be confined, as --sandbox=require asks for");
	if (err < 0)
		log_detail("none can be started: %s", strerror(-err));
	else
		log_detail("they lack %s", confine_list(confinement.missing, list));
	return -EOPNOTSUPP;
}

int stores_begin(struct stores *ret, const struct profiler_options *o)
{
	bool is_required = o->sandbox == SANDBOX_REQUIRE;
	struct namers *namers;
	int err = 0;

	if (o->sandbox == SANDBOX_OFF)
		return 0;
	if (o->helper)
		err = parsers_new(o->helper, &ret->parsers);
	else if (is_required)
		err = -ENOENT;
	if (is_required)
		err = require(ret->parsers, err);
	else if (err < 0)
		log_warning("this process parses all files itself, with its rights: %s",
			    strerror(-err));
	if (ret->parsers && err == 0 && o->symbols &&
	    namers_start(ret->parsers, o->names, &namers) == 0)
		ret->named = o->names;
	/* Without the capability, only this process may read the memory of its own children. */
	if (ret->parsers && err == 0 && permission_has(CAP_SYS_PTRACE))
		(void)fetchers_new(ret->parsers, &ret->fetchers);
	return is_required ? err : 0;
}

void stores_end(struct stores *stores)
{
	if (stores->named)
		names_set_reader(stores->named, NULL, NULL);
	stores->named = NULL;
	stores->fetchers = fetchers_free(stores->fetchers);
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
	if (o->cache)
		ret->binaries.cache = image_cache_open_default(&ret->cache);
	if (o->symbols)
		image_cache_keep_names(ret->binaries.cache, o->names);
	process_table_init(&ret->table, pool, &ret->binaries, publish, session);
	ret->table.fetchers = ret->fetchers;
	ret->table.inherit = o->target.inherit;
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

void stores_settle(struct stores *stores)
{
	struct binary_store *binaries = &stores->binaries;
	uint64_t ended = clock_now_ns();

	while (binaries->n_jobs > 0 && !binary_store_is_cancelled(binaries) &&
	       clock_now_ns() - ended < TABLE_PATIENCE_NS)
		if (binary_store_wait(binaries, WAIT_MS))
			ended = clock_now_ns();
	process_table_settle(&stores->table);
}
