/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_LABEL_TABLE_H
#define DP_REPORT_LABEL_TABLE_H

#include "report/label_set.h"

/* Label sets, each once: equal sets are the same pointer. */
struct label_table {
	struct label_entry *entries;
};

void label_table_done(struct label_table *table);

/*
 * Returns the table's own copy of a set, valid as long as the table; NULL for NULL. 0 or -ENOMEM.
 */
int label_table_add(struct label_table *table, const struct label_set *set,
		    const struct label_set **ret);

#endif
