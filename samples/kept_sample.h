/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_KEPT_SAMPLE_H
#define DP_SAMPLES_KEPT_SAMPLE_H

#include "base/cleanup.h"
#include "report/sample.h"
#include "samples/span_list.h"

/* A sample that waits until more is known of it. */
struct kept_sample {
	struct sample sample; /* owns its frames, which follow; its modules are held */
	struct span_list calls;
	size_t size;              /* of all of it, in bytes */
	struct kept_sample *next; /* for its owner */
	struct frame frames[];
};

/* Accepts NULL. Returns NULL. */
struct kept_sample *kept_sample_free(struct kept_sample *kept);
DEFINE_CLEANUP(struct kept_sample *, kept_sample_free)

/* Copies a sample. calls: the probed calls on its stack; NULL: none. 0 or -ENOMEM. */
int kept_sample_new(const struct sample *sample, const struct span_list *calls,
		    struct kept_sample **ret);

#endif
