/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_LABEL_COUNTS_H
#define DP_REPORT_LABEL_COUNTS_H

#include <stddef.h>

#include "report/report.h"

/* How much each label of samples' sets stands for: what reports for people show of labels. */

/* Labels that are counted apart, at most: there may be one for each request. Others are left out. */
#define LABEL_COUNTS_MAX 10000

struct label_count {
	const char *text; /* "route=/login", fit for a terminal */
	uint64_t value;   /* value_measured() */
};

struct label_counts {
	struct label_counts_entry *entries;
};

void label_counts_done(struct label_counts *counts);

/* Count the labels of a sample. 0 or -ENOMEM. */
int label_counts_add(struct label_counts *counts, const struct report_context *context,
		     const struct sample *sample);

/*
 * Call fn for at most max_values labels of each of max_keys keys, those first that stand for most:
 * keys by their first label. `rest` is, with a key's last one, how many more of it there are. Until fn
 * returns other than 0; that.
 */
int label_counts_for_each(struct label_counts *counts, size_t max_keys, size_t max_values,
			  int (*fn)(void *arg, const struct label_count *count, size_t rest),
			  void *arg);

/*
 * Those that stand for most on one line, with their shares of `all`, as far as there is room:
 * "route=/login 61.2 %, route=/ 20.1 %". "" if there are none.
 */
void label_counts_describe(struct label_counts *counts, uint64_t all, char *buffer, size_t size);

#endif
