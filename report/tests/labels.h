/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_TESTS_LABELS_H
#define DP_REPORT_TESTS_LABELS_H

#include <stdlib.h>

#include "report/label_set.h"

/* Makes a set of n labels, which the caller frees. */
static inline struct label_set *labels_of(const struct label *labels, size_t n, bool is_cut)
{
	struct label_list list = { .is_cut = is_cut };
	struct label_set *set;

	for (size_t i = 0; i < n; i++)
		if (label_list_add(&list, &labels[i]) < 0)
			abort();
	if (label_set_new(&list, &set) < 0)
		abort();
	label_list_done(&list);
	return set;
}

#endif
