/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_RING_RECORD_H
#define DP_KERNEL_RING_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bpf/abi.h"

/* What a record of a ring is: enum dp_record_kind; 0: it is too short to say so. */
static inline uint32_t record_kind(const void *record, size_t size)
{
	uint32_t kind = 0;

	if (size >= sizeof(kind))
		memcpy(&kind, record, sizeof(kind));
	return kind;
}

/* A sample with its names and all its frames, be they of its own record or of those before. */
struct named_sample {
	struct dp_names names;
	struct dp_sample sample; /* n_same is 0 */
	__u64 frames[];          /* n_user of them, n_kernel addresses, and labels */
};

static_assert(offsetof(struct named_sample, sample) == sizeof(struct dp_names) &&
		      offsetof(struct named_sample, frames) ==
			      sizeof(struct dp_names) + sizeof(struct dp_sample),
	      "a record with names and all frames can be taken as it is");

#endif
