// SPDX-License-Identifier: Apache-2.0
#include "text/top_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sum.h"

void top_rows_done(struct top_rows *rows)
{
	free(rows->items);
	*rows = (struct top_rows){ 0 };
}

static int add(struct top_rows *rows, const struct top_row *row)
{
	if (array_reserve(rows->items, rows->n, rows->size) < 0)
		return -ENOMEM;
	rows->items[rows->n++] = *row;
	return 0;
}

static int add_functions(struct top_rows *rows, const struct top_interval *interval)
{
	int err = 0;

	for (const struct hot *f = interval->functions.functions; err == 0 && f; f = f->hh.next)
		err = add(rows, &(struct top_row){ .kind = TOP_FUNCTION,
						   .function = f,
						   .self = f->self,
						   .total = f->total,
						   .whole = interval->value });
	return err;
}

/* Adds to the row of the same function or process, once for a stack, or appends one. */
static int count(struct top_rows *rows, const struct top_row *row)
{
	for (size_t i = 0; i < rows->n; i++) {
		struct top_row *known = &rows->items[i];

		if (!top_row_is_same(known, row))
			continue;
		if (row->last_stack && known->last_stack == row->last_stack)
			return 0;
		sum_increase(&known->self, row->self);
		sum_increase(&known->total, row->total);
		known->last_stack = row->last_stack;
		return 0;
	}
	return add(rows, row);
}

static int add_threads(struct top_rows *rows, const struct top_interval *interval,
		       enum top_row_kind kind)
{
	int err = 0;

	for (const struct hot_thread *t = interval->threads; err == 0 && t; t = t->hh.next) {
		const struct top_row row = { .kind = kind,
					     .thread = t,
					     .self = t->value,
					     .total = t->value,
					     .whole = interval->value };

		err = kind == TOP_THREAD ? add(rows, &row) : count(rows, &row);
	}
	return err;
}

int top_rows_make(struct top_rows *rows, const struct top_interval *interval, enum top_list list)
{
	rows->n = 0;
	if (list == TOP_FUNCTIONS)
		return add_functions(rows, interval);
	return add_threads(rows, interval, list == TOP_PROCESSES ? TOP_PROCESS : TOP_THREAD);
}

const char *top_row_name(const struct top_row *row)
{
	if (row->kind == TOP_PROCESS)
		return row->thread->comm;
	return row->kind == TOP_THREAD ? row->thread->name : row->function->name;
}

bool top_row_is_same(const struct top_row *a, const struct top_row *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == TOP_PROCESS)
		return a->thread->key.pid == b->thread->key.pid;
	if (a->kind == TOP_THREAD)
		return a->thread->key.pid == b->thread->key.pid &&
		       a->thread->key.tid == b->thread->key.tid;
	return a->function->key_size == b->function->key_size &&
	       memcmp(a->function->key, b->function->key, a->function->key_size) == 0;
}

static bool is_number(pid_t number, const char *text)
{
	char digits[16];

	snprintf(digits, sizeof(digits), "%d", number);
	return strcmp(digits, text) == 0;
}

static bool has_text(const struct top_row *row, const char *text)
{
	if (strcasestr(top_row_name(row), text))
		return true;
	if (!row->thread)
		return strcasestr(hot_binary(row->function), text) != NULL;
	return is_number(row->thread->key.pid, text) ||
	       (row->kind == TOP_THREAD && (is_number(row->thread->key.tid, text) ||
					    strcasestr(row->thread->comm, text) != NULL));
}

void top_rows_filter(struct top_rows *rows, const char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++)
		if (has_text(&rows->items[i], text))
			rows->items[n++] = rows->items[i];
	rows->n = n;
}

static int compare_values(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int compare_numbers(pid_t a, pid_t b)
{
	return a < b ? -1 : a > b;
}

/* The same row is nowhere else in the list, so that this is an order. */
static int compare_identity(const struct top_row *a, const struct top_row *b)
{
	int order = strcmp(top_row_name(a), top_row_name(b));

	if (order == 0 && a->thread)
		order = compare_numbers(a->thread->key.tid, b->thread->key.tid);
	return order == 0 && a->function ? strcmp(a->function->key, b->function->key) : order;
}

static int compare(const void *left, const void *right, void *arg)
{
	const struct top_row *a = left, *b = right;
	int order = 0;

	switch (*(const enum top_column *)arg) {
	case TOP_SELF:
	case TOP_NAME:
		break;
	case TOP_TOTAL:
		order = compare_values(a->total, b->total);
		break;
	case TOP_BINARY:
		order = strcmp(hot_binary(a->function), hot_binary(b->function));
		break;
	case TOP_PID:
		order = compare_numbers(a->thread->key.pid, b->thread->key.pid);
		break;
	case TOP_TID:
		order = compare_numbers(a->thread->key.tid, b->thread->key.tid);
		break;
	}
	if (order == 0 && *(const enum top_column *)arg != TOP_NAME)
		order = compare_values(a->self, b->self) ?: compare_values(a->total, b->total);
	return order ? order : compare_identity(a, b);
}

void top_rows_sort(struct top_rows *rows, enum top_column column)
{
	if (rows->n > 0)
		qsort_r(rows->items, rows->n, sizeof(*rows->items), compare, &column);
}

/* What belongs to frame number i of a stack, which is `row`'s; NULL: nothing. */
typedef const struct hot *(*detail_fn)(const struct hot_stack *stack, size_t i);

static const struct hot *find_caller(const struct hot_stack *stack, size_t i)
{
	return i + 1 < stack->n ? stack->functions[i + 1] : NULL;
}

static const struct hot *find_itself(const struct hot_stack *stack, size_t i)
{
	return i == stack->leaf ? stack->functions[i] : NULL;
}

/* What a waiting function calls only carries the wait out. */
static const struct hot *find_callee(const struct hot_stack *stack, size_t i)
{
	return i > 0 && i != stack->leaf ? stack->functions[i - 1] : NULL;
}

static bool is_of(const struct hot_stack *stack, size_t i, const struct top_row *row)
{
	switch (row->kind) {
	case TOP_PROCESS:
		return stack->thread->key.pid == row->thread->key.pid;
	case TOP_THREAD:
		return stack->thread == row->thread;
	default:
		return stack->functions[i] == row->function;
	}
}

static int add_details(struct top_rows *rows, const struct top_interval *interval,
		       const struct top_row *row, enum top_row_kind kind, detail_fn find)
{
	struct top_rows counted = { 0 };
	int err = 0;

	for (size_t s = 0; s < interval->n_stacks; s++) {
		const struct hot_stack *stack = interval->stacks[s];

		for (size_t i = 0; err == 0 && i < stack->n; i++) {
			const struct hot *function = is_of(stack, i, row) ? find(stack, i) : NULL;

			if (function)
				err = count(&counted, &(struct top_row){ .kind = kind,
									 .function = function,
									 .self = stack->value,
									 .total = stack->value,
									 .whole = row->total,
									 .last_stack = stack });
		}
	}
	top_rows_sort(&counted, TOP_SELF);
	for (size_t i = 0; err == 0 && i < counted.n && i < TOP_DETAILS; i++)
		err = add(rows, &counted.items[i]);
	top_rows_done(&counted);
	return err;
}

int top_rows_explain(struct top_rows *rows, const struct top_interval *interval,
		     const struct top_row *row)
{
	const struct top_row of = *row; /* it may be one of `rows`, which move */
	int err;

	if (of.kind == TOP_PROCESS || of.kind == TOP_THREAD)
		return add_details(rows, interval, &of, TOP_WITHIN, find_itself);
	err = add_details(rows, interval, &of, TOP_CALLER, find_caller);
	if (err == 0)
		err = add_details(rows, interval, &of, TOP_ITSELF, find_itself);
	return err == 0 ? add_details(rows, interval, &of, TOP_CALLEE, find_callee) : err;
}
