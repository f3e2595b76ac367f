// SPDX-License-Identifier: Apache-2.0
#include "profiler/stores.h"

#include "profiler/profiler.h"

void stores_init(struct stores *ret, const struct profiler_options *o, struct pool *pool,
		 int (*publish)(void *arg, pid_t pid, uint32_t cell), void *arg)
{
	binary_store_init(&ret->binaries, pool);
	ret->binaries.symbols = o->symbols;
	if (o->cache)
		ret->binaries.cache = image_cache_open_default(&ret->cache);
	if (o->symbols)
		image_cache_keep_names(ret->binaries.cache);
	process_table_init(&ret->table, pool, &ret->binaries, publish, arg);
	ret->table.inherit = o->target.inherit;
	ret->table.no_binaries = o->sides == DP_SIDES_KERNEL;
}

void stores_done(struct stores *stores)
{
	process_table_done(&stores->table);
	if (stores->binaries.cache)
		disk_cache_close(&stores->cache);
	binary_store_done(&stores->binaries);
	module_set_cache(NULL);
}
