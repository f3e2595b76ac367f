/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_PROFILER_USAGE_H
#define DP_PROFILER_PROFILER_USAGE_H

#include <stdint.h>

#include "kernel/run_stats.h"

struct profiler;

/* What a profiler has in the kernel. */
struct profiler_usage {
	uint64_t table_bytes, table_limit; /* of the pool of tables and snapshots */
	uint64_t tables_made, tables_freed, tables_evicted;
	uint64_t tables_from_cache; /* of those made */
	struct run_stats programs;
};

struct profiler_usage profiler_usage(const struct profiler *profiler);

#endif
