/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_GROUP_H
#define DP_REPORT_GROUP_H

#include <stdio.h>

#include "report/own_label.h"
#include "report/sample.h"

/*
 * The key by which stacks are counted separately on request: one of the labels that every sample
 * has (own_label.h), or of those in label sets.
 */
struct group {
	const struct own_label *own; /* NULL: in label sets */
	const char *key;
};

/*
 * Parses "cpu" or "label:route". The key points into the text. 0, or -EINVAL: there is no such
 * label.
 */
int group_parse(const char *text, struct group *ret);

/* Prints all valid keys: "cpu, pid, label:KEY". */
void group_list(FILE *to);

/*
 * Returns a set with only the label by which the sample is grouped, and those with the other key,
 * unless it is NULL; NULL if it has none. 0 or -ENOMEM; the caller frees *ret.
 */
int group_labels_new(const struct group *group, const char *other, const struct sample *sample,
		     struct label_set **ret);

#endif
