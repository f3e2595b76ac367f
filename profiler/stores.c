// SPDX-License-Identifier: Apache-2.0
#include "profiler/stores.h"

#include "profiler/profiler.h"
#include "symbols/names.h"

void stores_init(struct stores *ret, const struct profiler_options *o, struct pool *pool,
		 int (*publish)(void *arg, pid_t pid, uint32_t cell), void *arg)
{
	ret->names = o->names;
	binary_store_init(&ret->binaries, pool, o->names);
	ret->binaries.symbols = o->symbols;
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
