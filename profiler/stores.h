/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_STORES_H
#define DP_PROFILER_STORES_H

#include <sys/types.h>

#include "binaries/binary.h"
#include "binaries/image_cache.h"
#include "process/process.h"

struct profiler_options;

/* What is known of processes and of their binaries, with the tables to unwind them. */
struct stores {
	struct disk_cache cache; /* of use if binaries.cache leads to it */
	struct binary_store binaries;
	struct process_table table;
	struct names *names; /* the host's */
};

/* Tables go into the pool; publish: see process_table_init(). `ret` must stay where it is. */
void stores_init(struct stores *ret, const struct profiler_options *options, struct pool *pool,
		 int (*publish)(void *arg, pid_t pid, uint32_t cell), void *arg);
void stores_done(struct stores *stores);

#endif
