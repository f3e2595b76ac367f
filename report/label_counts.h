/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_LABEL_COUNTS_H
#define DP_REPORT_LABEL_COUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/report.h"

/* The total value of each label in samples' sets, for reports that people read. */

struct label_count {
	const char *text; /* "route=/login", printable on a terminal */
	uint64_t value;   /* value_measured() */
};

struct label_counts {
	struct label_counts_entry *entries;
};

void label_counts_done(struct label_counts *counts);

/* Counts the labels of a sample. 0 or -ENOMEM. */
int label_counts_add(struct label_counts *counts, const struct report_context *context,
		     const struct sample *sample);

/* Counts a text, which is printable and no label, like those of a single key. 0 or -ENOMEM. */
int label_counts_add_text(struct label_counts *counts, const char *text, uint64_t value);

bool label_counts_have_text(const struct label_counts *counts, const char *text);

/* How many different ones are counted. */
size_t label_counts_n(const struct label_counts *counts);

/* The heaviest text and its value; NULL: there is none. */
const char *label_counts_heaviest(const struct label_counts *counts, uint64_t *ret_value);

/* The text, if there is only one, of that value; or NULL. */
const char *label_counts_single(const struct label_counts *counts, uint64_t value);

/*
 * Calls fn for at most max_values labels of each of max_keys keys, heaviest first; keys are in the
 * order of their heaviest label. With a key's last label, `rest` is the number of further ones.
 * Stops if fn returns a value other than 0, and returns it.
 */
int label_counts_for_each(struct label_counts *counts, size_t max_keys, size_t max_values,
			  int (*fn)(void *arg, const struct label_count *count, size_t rest),
			  void *arg);

/* The heaviest of all texts likewise, if these are not labels, and the number of those that are left out. */
void label_counts_describe_texts(struct label_counts *counts, uint64_t all, char *buffer,
				 size_t size);

/*
 * Writes the heaviest labels, as many as fit, with their shares of `all`: "route=/login 61.2 %,
 * route=/ 20.1 %". "" if there are none.
 */
void label_counts_describe(struct label_counts *counts, uint64_t all, char *buffer, size_t size);

#endif
