// SPDX-License-Identifier: Apache-2.0
#include "report/function_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sum.h"
#include "base/text.h"
#include "report/profile.h"
#include "report/symbolized.h"
#include "report/value.h"

struct functions {
	struct report report;
	struct function_counts *table;
	size_t side;
	struct profile *profile;
	struct symbolized_stack symbolized;
};

void function_counts_done(struct function_counts *table)
{
	struct function_row *row, *next;

	HASH_ITER(hh, table->rows, row, next) {
		HASH_DEL(table->rows, row);
		free(row);
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Code in no known function counts as one function per binary, the kernel's as REPORT_KERNEL. */
static int make_name(const struct symbolized_frame *symbolized, const char *binary, char **ret)
{
	int n;

	if (symbolized->is_named || symbolized->has_start)
		n = asprintf(ret, "%s", symbolized->name);
	else if (symbolized->kind == SYMBOLIZED_KERNEL)
		n = asprintf(ret, REPORT_KERNEL);
	else
		n = asprintf(ret, "[%s]", binary ? binary : "unknown");
	return n < 0 ? -ENOMEM : 0;
}

static struct function_row *row_new(const struct symbolized_frame *symbolized)
{
	const char *binary = symbolized->binary ? base_name(symbolized->binary) : NULL;
	_cleanup_free_ char *name = NULL;
	struct function_row *row;
	size_t name_size, binary_size;

	if (make_name(symbolized, binary, &name) < 0)
		return NULL;
	binary = binary ? binary : "?";
	name_size = strlen(name) + 1;
	binary_size = strlen(binary) + 1;
	row = calloc(1, sizeof(*row) + name_size + binary_size);
	if (!row)
		return NULL;
	memcpy(row->name, name, name_size);
	memcpy(row->name + name_size, binary, binary_size);
	text_make_plain(row->name);
	text_make_plain(row->name + name_size);
	row->binary = row->name + name_size;
	row->key_size = name_size + binary_size;
	return row;
}

static struct function_row *find_row(struct function_counts *table,
				     const struct symbolized_frame *symbolized)
{
	struct function_row *row = row_new(symbolized), *known;

	if (!row)
		return NULL;
	HASH_FIND(hh, table->rows, row->name, row->key_size, known);
	if (known) {
		free(row);
		return known;
	}
	HASH_ADD(hh, table->rows, name, row->key_size, row);
	if (!HASH_IS_ADDED(hh, row)) {
		free(row);
		return NULL;
	}
	return row;
}

static int count_stack(const struct stack *stack, void *arg)
{
	struct functions *f = arg;
	const struct value measured = value_measured(&f->report.context);
	uint64_t value = value_of_stack(&measured, stack);
	uint64_t number = ++f->table->n_stacks;
	bool leaf = true;
	int err = symbolized_stack_make(&f->report, stack, 0, &f->symbolized);

	for (size_t i = 0; err == 0 && i < f->symbolized.n; i++) {
		struct function_row *row;

		if (f->symbolized.items[i].kind == SYMBOLIZED_MARK)
			continue;
		row = find_row(f->table, &f->symbolized.items[i]);
		if (!row)
			return -ENOMEM;
		if (leaf)
			sum_increase(&row->self[f->side], value);
		if (row->last_stack != number)
			sum_increase(&row->total[f->side], value);
		row->last_stack = number;
		leaf = false;
	}
	return err;
}

static int functions_add(struct report *report, const struct sample *sample,
			 const struct totals *totals)
{
	return profile_add(((struct functions *)report)->profile, sample);
}

static int functions_finish(struct report *report, const struct totals *totals)
{
	return profile_for_each(((struct functions *)report)->profile, count_stack, report);
}

static void functions_free(struct report *report)
{
	struct functions *f = (struct functions *)report;

	symbolized_stack_done(&f->symbolized);
	profile_free(f->profile);
	free(f);
}

int report_functions_new(struct function_counts *table, size_t side,
			 const struct report_context *context, struct report **ret)
{
	struct functions *f = calloc(1, sizeof(*f));

	if (!f || profile_new(0, &f->profile) < 0) {
		free(f);
		return -ENOMEM;
	}
	f->report.context = *context;
	f->report.add = functions_add;
	f->report.finish = functions_finish;
	f->report.free = functions_free;
	f->table = table;
	f->side = side;
	*ret = &f->report;
	return 0;
}
