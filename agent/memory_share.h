/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_MEMORY_SHARE_H
#define DP_AGENT_MEMORY_SHARE_H

#include "agent/agent.h"

/* How --memory is divided. */

/* The size of each backend's spool: of those in memory, all together have an eighth of it. */
uint64_t memory_share_spool_bytes(const struct agent_options *options);
/*
 * Whether so much memory in use is a reason to begin anew. What waits for backends in memory would
 * still be there after that.
 */
bool memory_share_is_exceeded(const struct agent_options *options, uint64_t used_bytes,
			      uint64_t waiting_bytes);

#endif
