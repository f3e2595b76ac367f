// SPDX-License-Identifier: Apache-2.0
#include "agent/memory_share.h"

#define SPOOLS_PART 8

uint64_t memory_share_spool_bytes(const struct agent_options *o)
{
	uint64_t part = o->n_backends > 0 ? o->memory / SPOOLS_PART / o->n_backends : 0;

	return o->spool || part == 0 || o->spool_size < part ? o->spool_size : part;
}

bool memory_share_is_exceeded(const struct agent_options *o, uint64_t used_bytes,
			      uint64_t waiting_bytes)
{
	uint64_t waiting = o->spool ? 0 : waiting_bytes;

	return o->memory > 0 && used_bytes > o->memory && used_bytes - o->memory > waiting;
}
