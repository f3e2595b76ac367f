/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_TOP_ROWS_H
#define DP_TEXT_TOP_ROWS_H

#include <stdbool.h>

#include "text/top_interval.h"

/* The rows of a list of `dwarfprof top`. They point into the interval. */

enum top_list { TOP_FUNCTIONS, TOP_PROCESSES, TOP_THREADS, TOP_N_LISTS };

enum top_row_kind {
	TOP_FUNCTION,
	TOP_PROCESS,
	TOP_THREAD,
	/* Of a function above: who called it, what it spent itself, and what it called. */
	TOP_CALLER,
	TOP_ITSELF,
	TOP_CALLEE,
	/* Of a process or thread above: where it spent most. */
	TOP_WITHIN,
};

struct top_row {
	enum top_row_kind kind;
	const struct hot *function;         /* NULL: a process or thread */
	const struct hot_thread *thread;    /* one of the process's; NULL: a function */
	uint64_t self, total;               /* a process's, thread's or detail's are the same */
	uint64_t whole;                     /* what shares are of */
	const struct hot_stack *last_stack; /* of a detail: the last one counted */
};

struct top_rows {
	struct top_row *items;
	size_t n, size;
};

enum top_column { TOP_SELF, TOP_TOTAL, TOP_NAME, TOP_BINARY, TOP_PID, TOP_TID };

void top_rows_done(struct top_rows *rows);

/* All rows of a list, in no order. 0 or -ENOMEM. */
int top_rows_make(struct top_rows *rows, const struct top_interval *interval, enum top_list list);

/*
 * Keeps the rows with this text, in any case of ASCII letters, in the name of the function, binary,
 * process or thread, or that are of the process or thread with this number.
 */
void top_rows_filter(struct top_rows *rows, const char *text);

/*
 * Sorts by a column: values and then names; numbers and names upwards. The column must be one of the
 * list's (top_view_columns()).
 */
void top_rows_sort(struct top_rows *rows, enum top_column column);

/* Details of a row, up to so many of each kind, largest first. */
#define TOP_DETAILS 10
/* Appends them. A stack counts once for each caller and callee in it. 0 or -ENOMEM. */
int top_rows_explain(struct top_rows *rows, const struct top_interval *interval,
		     const struct top_row *row);

/* The name of the row's process or thread, else of its function. */
const char *top_row_name(const struct top_row *row);

/* True if both are of the same function, process or thread, though of different intervals. */
bool top_row_is_same(const struct top_row *a, const struct top_row *b);

#endif
