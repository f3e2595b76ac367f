/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_GROUP_H
#define DP_REPORT_GROUP_H

#include <stdio.h>

#include "report/own_label.h"
#include "report/sample.h"

/*
 * What stacks are told apart by on request, and counted: one key, of the labels that samples have by
 * themselves (own_label.h), or of those of their label sets.
 */
struct group {
	const struct own_label *own; /* NULL: it is in label sets */
	const char *key;
};

/* "cpu", "label:route". The key leads into the text. 0, or -EINVAL: there is no such label. */
int group_parse(const char *text, struct group *ret);

/* "cpu, pid, label:KEY": all that may be given. */
void group_list(FILE *to);

/*
 * A set of the one label that a sample is grouped by; NULL if it does not have it. 0 or -ENOMEM; the
 * caller frees *ret.
 */
int group_labels_new(const struct group *group, const struct sample *sample,
		     struct label_set **ret);

#endif
