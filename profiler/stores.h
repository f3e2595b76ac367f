/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_STORES_H
#define DP_PROFILER_STORES_H

#include <sys/types.h>

#include "binaries/binary.h"
#include "binaries/image_cache.h"
#include "process/process.h"

struct profiler_options;

/* Known processes and their binaries, with their unwind tables. */
struct stores {
	struct parsers *parsers; /* NULL: files are parsed in this process */
	struct disk_cache cache; /* in use if binaries.cache points to it */
	struct binary_store binaries;
	struct process_table table;
	struct names *names; /* owned by the host */
};

/*
 * Starts the parsers: call it before the process has descriptors that they must not have. `ret` is
 * zero. stores_end() ends them, after stores_done() if there was a stores_init().
 */
void stores_begin(struct stores *ret, const struct profiler_options *options);
void stores_end(struct stores *stores);

/* Places tables in the pool; publish: see process_table_init(). `ret` must not move. */
void stores_init(struct stores *ret, const struct profiler_options *options, struct pool *pool,
		 int (*publish)(void *arg, pid_t pid, uint32_t cell), void *arg);
void stores_done(struct stores *stores);

#endif
