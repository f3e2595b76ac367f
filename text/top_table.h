/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_TOP_TABLE_H
#define DP_TEXT_TOP_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "text/hot_list.h"

/* An interval of `dwarfprof top` as lines, cut to the size of a terminal. */

#define TOP_HEAD_LINES 3

struct top_table {
	const char *head[TOP_HEAD_LINES];
	struct hot_list *functions; /* will be sorted */
	const char *label;          /* the key of a column with a label; NULL: none */
	uint64_t value;             /* what shares are of */
};

/* replaces: on a terminal, in place of all below the cursor. 0 or a negative errno. */
int top_table_print(const struct top_table *table, bool replaces, FILE *to);

#endif
