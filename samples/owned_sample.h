/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_OWNED_SAMPLE_H
#define DP_SAMPLES_OWNED_SAMPLE_H

#include "base/cleanup.h"
#include "report/sample.h"
#include "samples/span_list.h"

/* A sample that waits until more is known of it. */
struct owned_sample {
	struct sample sample; /* owns its frames, which follow; its modules are held */
	struct span_list calls;
	size_t size;               /* of all of it, in bytes */
	struct owned_sample *next; /* for its owner */
	struct frame frames[];
};

/* Accepts NULL. Returns NULL. */
struct owned_sample *owned_sample_free(struct owned_sample *kept);
DEFINE_CLEANUP(struct owned_sample *, owned_sample_free)

/* Copies a sample. calls: the probed calls on its stack; NULL: none. 0 or -ENOMEM. */
int owned_sample_new(const struct sample *sample, const struct span_list *calls,
		     struct owned_sample **ret);

#endif
