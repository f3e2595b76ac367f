/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_MEMORY_SHARE_H
#define DP_AGENT_MEMORY_SHARE_H

#include "agent/agent.h"

/* How --memory is divided. */

/* The size of each backend's spool. Spools in memory share an eighth of --memory. */
uint64_t memory_share_spool_bytes(const struct agent_options *options);
/*
 * Whether to restart the profiler because of the memory in use. Requests that wait in memory do not count: they
 * would survive the restart.
 */
bool memory_share_is_exceeded(const struct agent_options *options, uint64_t used_bytes,
			      uint64_t waiting_bytes);

#endif
