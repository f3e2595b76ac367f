/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_LABELS_H
#define DP_SAMPLES_LABELS_H

#include "samples/label_source.h"

/* Sources of a host, beside those that there always are. They stay the host's. */
struct label_sources {
	const struct label_source *const *items;
	size_t n;
};

/*
 * The labels of a sample, of all sources. *ret is NULL without labels, and empty and cut where they
 * are not known. 0, -ENOMEM, or an error of a source; the caller frees *ret.
 */
int labels_new(const struct label_sources *host, const struct label_context *context,
	       struct label_set **ret);

#endif
