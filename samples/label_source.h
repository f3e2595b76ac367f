/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_LABEL_SOURCE_H
#define DP_SAMPLES_LABEL_SOURCE_H

#include "kernel/ring_record.h"
#include "process/snapshot.h"
#include "report/label_set.h"
#include "report/sample.h"

struct label_sources;

/* The sample that is to get labels. */
struct label_context {
	const struct named_sample *named; /* as the kernel sent it */
	const struct snapshot *in_kernel; /* used by the kernel, or NULL */
	const struct snapshot *walked;    /* used for its frames, or NULL */
	const struct sample *sample;      /* as it will be reported, without labels */
	const struct label_sources *host; /* the host's own sources; NULL: none */
	const uint64_t
		*cfas; /* of its frames, if user space has walked them (unwinder.h); or NULL */
};

/*
 * A source of labels: one object in a file of its own, with a row in labels.c. A host may have
 * further ones. Formats write all labels.
 */
struct label_source {
	const char *name;
	const void *arg; /* the source's own */
	/*
	 * Adds the labels of a sample to a list. If it has labels but they are not known, marks the
	 * list as cut. Called for each sample by the thread that reads the rings, so it must not
	 * block. 0 or a negative errno, which ends the profile.
	 */
	int (*add)(const struct label_source *source, const struct label_context *context,
		   struct label_list *list);
};

/*
 * Whether the kernel has looked for labels of these forms (binary_has_labels()), or the sample has none. The
 * kernel does not look for every sample, and reads only one form per process.
 */
bool label_was_looked_for(const struct label_context *context, unsigned int forms);

/* Adds the labels of a record; NULL: none. A damaged record does not end the profile, but cuts the list. */
int label_add_record(const struct dp_labels *labels, struct label_list *list);

extern const struct label_source label_go;
extern const struct label_source label_crash;
extern const struct label_source label_custom;
extern const struct label_source label_trace;

#endif
