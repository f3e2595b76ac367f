/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_OWN_USE_H
#define DP_AGENT_OWN_USE_H

#include <stdint.h>

/* What processes use. */
struct own_use {
	double cpu_seconds;
	uint64_t resident_bytes, private_bytes;
};

/* Of this process and of its helpers; cpu_seconds also of those that have ended. */
void own_use_read(struct own_use *ret, struct own_use *ret_children);

#endif
