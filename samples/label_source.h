/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_LABEL_SOURCE_H
#define DP_SAMPLES_LABEL_SOURCE_H

#include "kernel/ring_record.h"
#include "process/snapshot.h"
#include "report/label_set.h"
#include "report/sample.h"

/* What is known of a sample that is to have labels. */
struct label_context {
	const struct named_sample *named; /* as the kernel sent it */
	const struct snapshot *taken;     /* that the kernel took it in, or NULL */
	const struct snapshot *walked;    /* that its frames were found in, or NULL */
	const struct sample *sample;      /* as it will be reported, but for its labels */
};

/*
 * Who knows labels of samples. A source is one object in a file of its own, with a row in
 * labels.c; hosts may have sources that are in no table. Formats write whatever labels there are.
 */
struct label_source {
	const char *name;
	const void *arg; /* the source's own */
	/*
	 * Add the labels of a sample to a list; where there are some, but not known which, the list
	 * is cut. Called for each sample, by the thread that reads the rings, which cannot wait.
	 * 0 or a negative errno, which ends the profile.
	 */
	int (*add)(const struct label_source *source, const struct label_context *context,
		   struct label_list *list);
};

extern const struct label_source label_go;

#endif
