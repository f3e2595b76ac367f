// SPDX-License-Identifier: Apache-2.0
#include "profiler/stores.h"

#include <string.h>

#include "log/log.h"
#include "profiler/profiler.h"
#include "sandbox/parsers.h"
#include "symbols/names.h"

void stores_begin(struct stores *ret, const struct profiler_options *o)
{
	int err = o->helper ? parsers_new(o->helper, &ret->parsers) : 0;

	if (err < 0)
		log_debug("files are parsed in this process: %s", strerror(-err));
}

void stores_end(struct stores *stores)
{
	stores->parsers = parsers_drop(stores->parsers);
}

void stores_init(struct stores *ret, const struct profiler_options *o, struct pool *pool,
		 int (*publish)(void *arg, pid_t pid, uint32_t cell), void *arg)
{
	ret->names = o->names;
	binary_store_init(&ret->binaries, pool, o->names);
	ret->binaries.symbols = o->symbols;
	ret->binaries.parsers = ret->parsers;
	if (o->cache)
		ret->binaries.cache = image_cache_open_default(&ret->cache);
	if (o->symbols)
		image_cache_keep_names(ret->binaries.cache, o->names);
	process_table_init(&ret->table, pool, &ret->binaries, publish, arg);
	ret->table.inherit = o->target.inherit;
	ret->table.no_binaries = o->sides == DP_SIDES_KERNEL;
}

void stores_done(struct stores *stores)
{
	process_table_done(&stores->table);
	binary_store_done(&stores->binaries);
	if (stores->binaries.cache)
		disk_cache_close(&stores->cache);
	names_set_cache(stores->names, NULL);
}
