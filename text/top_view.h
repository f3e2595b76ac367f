/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_TOP_VIEW_H
#define DP_TEXT_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "text/top_rows.h"

/*
 * The view of an interval in `dwarfprof top`: which list, its order, the filter, which rows are expanded, and the
 * selected row. These choices persist across intervals.
 */

#define TOP_FILTER_SIZE 128

/* An expanded row; it is expanded again if it disappears and comes back. */
struct top_mark {
	enum top_row_kind kind;
	pid_t pid, tid;
	size_t key_size;
	char *key; /* of a function; NULL: of a process or thread */
};

struct top_view {
	struct top_interval *interval; /* NULL: none yet */
	enum top_list list;
	enum top_column columns[TOP_N_LISTS]; /* what each list is sorted by */
	char filter[TOP_FILTER_SIZE];         /* "": none */
	struct top_mark *marks;
	size_t n_marks, marks_size;
	struct top_rows rows;
	size_t n_all, n_found; /* of the list, without details; of these, those of the filter */
	size_t selected;
	/*
	 * The selection follows its row. But if it was never moved, or was moved to the first row, it stays
	 * at the top.
	 */
	bool follows;
};

void top_view_init(struct top_view *ret);
void top_view_done(struct top_view *view);

/* These return 0, or -ENOMEM after showing as much as memory allowed. */

/* Shows another interval, which is the view's from now on. */
int top_view_show(struct top_view *view, struct top_interval *interval);
int top_view_choose_list(struct top_view *view, enum top_list list);
/* Sorts by a neighbour of the present column; the first follows the last. */
int top_view_sort(struct top_view *view, int step);
/* At most TOP_FILTER_SIZE - 1 bytes of the text count. */
int top_view_filter(struct top_view *view, const char *text);
/*
 * Shows or hides the details of the selected row. On a caller, a callee or a function of a process, selects and expands
 * that function, and clears the filter if it hides it.
 */
int top_view_expand(struct top_view *view);
/* Hides all details. */
int top_view_collapse(struct top_view *view);

/* Moves the selection by so many rows, up to the first or last one. */
void top_view_move(struct top_view *view, long rows);

/* The columns of the present list, in the order of the screen; their number. */
size_t top_view_columns(const struct top_view *view, const enum top_column **ret);

#endif
