// SPDX-License-Identifier: Apache-2.0
#include "text/top_view.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

#define MAX_COLUMNS 4

static const struct {
	size_t n;
	enum top_column columns[MAX_COLUMNS];
} lists[TOP_N_LISTS] = {
	[TOP_FUNCTIONS] = { 4, { TOP_SELF, TOP_TOTAL, TOP_NAME, TOP_BINARY } },
	[TOP_PROCESSES] = { 3, { TOP_SELF, TOP_PID, TOP_NAME } },
	[TOP_THREADS] = { 4, { TOP_SELF, TOP_TID, TOP_PID, TOP_NAME } },
};

void top_view_init(struct top_view *ret)
{
	*ret = (struct top_view){ .list = TOP_FUNCTIONS };
	for (size_t i = 0; i < TOP_N_LISTS; i++)
		ret->columns[i] = TOP_SELF;
}

static void forget_marks(struct top_view *view)
{
	for (size_t i = 0; i < view->n_marks; i++)
		free(view->marks[i].key);
	view->n_marks = 0;
}

void top_view_done(struct top_view *view)
{
	forget_marks(view);
	free(view->marks);
	top_rows_done(&view->rows);
	top_interval_free(view->interval);
}

static bool is_detail(const struct top_row *row)
{
	return row->kind >= TOP_CALLER;
}

/* The row that a detail is of. */
static size_t find_parent(const struct top_rows *rows, size_t i)
{
	while (i > 0 && is_detail(&rows->items[i]))
		i--;
	return i;
}

/* The number of the mark of a row; n_marks: it has none. */
static size_t find_mark(const struct top_view *view, const struct top_row *row)
{
	for (size_t i = 0; i < view->n_marks; i++) {
		const struct top_mark *mark = &view->marks[i];

		if (mark->kind != row->kind)
			continue;
		if (row->function ?
			    mark->key_size == row->function->key_size &&
				    memcmp(mark->key, row->function->key, mark->key_size) == 0 :
			    mark->pid == row->thread->key.pid &&
				    (row->kind == TOP_PROCESS || mark->tid == row->thread->key.tid))
			return i;
	}
	return view->n_marks;
}

static int add_mark(struct top_view *view, const struct top_row *row)
{
	struct top_mark mark = { .kind = row->kind };

	if (array_reserve(view->marks, view->n_marks, view->marks_size) < 0)
		return -ENOMEM;
	if (row->function) {
		mark.key_size = row->function->key_size;
		mark.key = malloc(mark.key_size);
		if (!mark.key)
			return -ENOMEM;
		memcpy(mark.key, row->function->key, mark.key_size);
	} else {
		mark.pid = row->thread->key.pid;
		mark.tid = row->thread->key.tid;
	}
	view->marks[view->n_marks++] = mark;
	return 0;
}

static void remove_mark(struct top_view *view, size_t i)
{
	free(view->marks[i].key);
	view->marks[i] = view->marks[--view->n_marks];
}

/* Puts the details of expanded rows below these. */
static int add_details(struct top_view *view, const struct top_rows *list)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < list->n; i++) {
		const struct top_row *row = &list->items[i];

		if (array_reserve(view->rows.items, view->rows.n, view->rows.size) < 0)
			return -ENOMEM;
		view->rows.items[view->rows.n++] = *row;
		if (find_mark(view, row) < view->n_marks)
			err = top_rows_explain(&view->rows, view->interval, row);
	}
	return err;
}

/* Is a row, with what it is a detail of, one of other rows? */
static bool is_same(const struct top_rows *rows, size_t i, const struct top_rows *others, size_t j)
{
	return top_row_is_same(&rows->items[i], &others->items[j]) &&
	       top_row_is_same(&rows->items[find_parent(rows, i)],
			       &others->items[find_parent(others, j)]);
}

/* Selects the row that was selected before; if it is gone, the one in its place. */
static void select_again(struct top_view *view, const struct top_rows *before)
{
	if (!view->follows)
		view->selected = 0;
	else if (view->selected < before->n)
		for (size_t i = 0; i < view->rows.n; i++)
			if (is_same(&view->rows, i, before, view->selected)) {
				view->selected = i;
				return;
			}
	if (view->selected >= view->rows.n)
		view->selected = view->rows.n > 0 ? view->rows.n - 1 : 0;
}

static int make_rows(struct top_view *view)
{
	struct top_rows before = view->rows, list = { 0 };
	int err;

	if (!view->interval)
		return 0;
	view->rows = (struct top_rows){ 0 };
	err = top_rows_make(&list, view->interval, view->list);
	view->n_all = list.n;
	top_rows_filter(&list, view->filter);
	view->n_found = list.n;
	top_rows_sort(&list, view->columns[view->list]);
	if (err == 0)
		err = add_details(view, &list);
	select_again(view, &before);
	top_rows_done(&list);
	top_rows_done(&before);
	return err;
}

int top_view_show(struct top_view *view, struct top_interval *interval)
{
	struct top_interval *before = view->interval;
	int err;

	view->interval = interval;
	err = make_rows(view); /* compares with the rows of the one before */
	top_interval_free(before);
	return err;
}

int top_view_choose_list(struct top_view *view, enum top_list list)
{
	if (list == view->list)
		return 0;
	view->list = list;
	view->follows = false;
	return make_rows(view);
}

size_t top_view_columns(const struct top_view *view, const enum top_column **ret)
{
	*ret = lists[view->list].columns;
	return lists[view->list].n;
}

int top_view_sort(struct top_view *view, int step)
{
	const enum top_column *columns;
	size_t n = top_view_columns(view, &columns), i = 0;

	while (columns[i] != view->columns[view->list])
		i++;
	view->columns[view->list] = columns[(i + n + (size_t)step) % n];
	return make_rows(view);
}

int top_view_filter(struct top_view *view, const char *text)
{
	snprintf(view->filter, sizeof(view->filter), "%s", text);
	text_make_plain(view->filter);
	return make_rows(view);
}

/* Selects a function in the list of functions, with its details. */
static int go_to_function(struct top_view *view, const struct hot *function)
{
	const struct top_row row = { .kind = TOP_FUNCTION, .function = function };
	int err = find_mark(view, &row) < view->n_marks ? 0 : add_mark(view, &row);

	view->list = TOP_FUNCTIONS;
	for (int try = 0; err == 0 && try < 2; try++) {
		err = make_rows(view);
		for (size_t i = 0; i < view->rows.n; i++)
			if (top_row_is_same(&view->rows.items[i], &row)) {
				view->selected = i;
				view->follows = true;
				return err;
			}
		view->filter[0] = '\0';
	}
	return err;
}

int top_view_expand(struct top_view *view)
{
	const struct top_row *row;
	size_t mark;
	int err = 0;

	if (view->selected >= view->rows.n)
		return 0;
	row = &view->rows.items[view->selected];
	if (is_detail(row))
		return go_to_function(view, row->function);
	view->follows = true;
	mark = find_mark(view, row);
	if (mark < view->n_marks)
		remove_mark(view, mark);
	else
		err = add_mark(view, row);
	return make_rows(view) ?: err;
}

int top_view_collapse(struct top_view *view)
{
	view->selected = find_parent(&view->rows, view->selected);
	forget_marks(view);
	return make_rows(view);
}

void top_view_move(struct top_view *view, long rows)
{
	size_t last = view->rows.n > 0 ? view->rows.n - 1 : 0;

	if (rows < 0)
		view->selected =
			view->selected > (size_t)-rows ? view->selected - (size_t)-rows : 0;
	else
		view->selected =
			last - view->selected > (size_t)rows ? view->selected + (size_t)rows : last;
	view->follows = view->selected > 0;
}
