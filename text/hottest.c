// SPDX-License-Identifier: Apache-2.0
#include "text/hottest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/sum.h"

struct hottest_path {
	UT_hash_handle hh;
	uint64_t value;
	size_t n;
	struct value_texts *texts; /* of each function; NULL: none */
	struct hottest_function
		functions[]; /* the key; their values are 0, and they have no texts */
};

void hottest_done(struct hottest *hottest)
{
	struct hottest_path *path, *next;

	HASH_ITER(hh, hottest->paths, path, next) {
		HASH_DEL(hottest->paths, path);
		for (size_t i = 0; path->texts && i < path->n; i++)
			value_texts_done(&path->texts[i]);
		free(path->texts);
		free(path);
	}
	free(hottest->functions);
	*hottest = (struct hottest){ 0 };
}

const char *hottest_name(const struct symbolized_frame *symbolized, char buffer[FRAME_LABEL_SIZE])
{
	if (symbolized->is_named || symbolized->has_start || symbolized->kind != SYMBOLIZED_USER)
		return symbolized->name;
	if (!symbolized->module)
		return "[unknown]";
	snprintf(buffer, FRAME_LABEL_SIZE, "[%.255s]", symbolized->module->name);
	return buffer;
}

/* The report has each string once, so equal names are equal pointers. */
static int put_function(struct report *report, const char *name,
			const struct symbolized_frame *symbolized, struct hottest_function *ret)
{
	uint32_t number;
	int err = string_table_add(&report->strings, name, &number);

	if (err < 0)
		return err;
	*ret = (struct hottest_function){
		.name = report->strings.strings[number],
		.kind = symbolized ? symbolized->kind : SYMBOLIZED_MARK,
		.is_inlined = symbolized && symbolized->is_inlined,
		.is_near = symbolized && symbolized->is_near,
	};
	return 0;
}

static int make_functions(struct hottest *hottest, struct report *report, const char *comm,
			  const struct symbolized_stack *stack)
{
	char buffer[FRAME_LABEL_SIZE];
	size_t n = stack->n + 1;
	int err;

	if (n > hottest->functions_size) {
		struct hottest_function *functions =
			reallocarray(hottest->functions, n, sizeof(*functions));

		if (!functions)
			return -ENOMEM;
		hottest->functions = functions;
		hottest->functions_size = n;
	}
	err = put_function(report, comm, NULL, &hottest->functions[0]);
	for (size_t i = 0; err == 0 && i < stack->n; i++) {
		const struct symbolized_frame *symbolized = &stack->items[stack->n - 1 - i];

		err = put_function(report, hottest_name(symbolized, buffer), symbolized,
				   &hottest->functions[i + 1]);
	}
	return err;
}

/* The path of what make_functions() has made. */
static struct hottest_path *find_or_add(struct hottest *hottest, size_t n)
{
	size_t size = n * sizeof(hottest->functions[0]);
	struct hottest_path *path;

	HASH_FIND(hh, hottest->paths, hottest->functions, size, path);
	if (!path) {
		path = calloc(1, sizeof(*path) + size);
		if (!path)
			return NULL;
		path->n = n;
		memcpy(path->functions, hottest->functions, size);
		HASH_ADD(hh, hottest->paths, functions[0], size, path);
		if (!HASH_IS_ADDED(hh, path)) {
			free(path);
			return NULL;
		}
	}
	return path;
}

/* The functions of a path are in the order from the root. */
static int add_values(struct hottest_path *path, const struct stack *stack,
		      const struct symbolized_stack *symbolized, const struct value *value,
		      const struct frame_values *values)
{
	int err = 0;

	for (size_t i = 0; values->n > 0 && err == 0 && i < symbolized->n; i++) {
		if (!path->texts)
			path->texts = calloc(path->n, sizeof(*path->texts));
		if (!path->texts)
			return -ENOMEM;
		err = frame_values_sum(values, stack, symbolized->items[i].frame, value,
				       &path->texts[symbolized->n - i]);
	}
	return err;
}

int hottest_add(struct hottest *hottest, struct report *report, const struct stack *stack,
		const struct symbolized_stack *symbolized, const struct value *value,
		const struct frame_values *values)
{
	int err = make_functions(hottest, report, stack->common.comm, symbolized);
	struct hottest_path *path = err == 0 ? find_or_add(hottest, symbolized->n + 1) : NULL;

	if (err < 0 || !path)
		return err < 0 ? err : -ENOMEM;
	sum_increase(&path->value, value_of_stack(value, stack));
	return add_values(path, stack, symbolized, value, values);
}

/* For each function, counts the value of all stacks that are equal from the root down to it. */
static void count_prefixes(struct hottest *all, const struct hottest_path *path)
{
	for (const struct hottest_path *p = all->paths; p; p = p->hh.next)
		for (size_t i = 0;
		     i < p->n && i < path->n && p->functions[i].name == path->functions[i].name &&
		     p->functions[i].kind == path->functions[i].kind;
		     i++)
			sum_increase(&all->functions[i].value, p->value);
}

size_t hottest_find(struct hottest *hottest, const struct hottest_function **ret,
		    uint64_t *ret_value)
{
	const struct hottest_path *best = NULL;

	for (const struct hottest_path *p = hottest->paths; p; p = p->hh.next)
		if (p->value > 0 && (!best || p->value > best->value))
			best = p;
	if (!best)
		return 0;
	/* It was counted, so there is room. */
	memcpy(hottest->functions, best->functions, best->n * sizeof(best->functions[0]));
	count_prefixes(hottest, best);
	for (size_t i = 0; best->texts && i < best->n; i++)
		if (best->texts[i].all > 0)
			hottest->functions[i].texts = &best->texts[i];
	*ret = hottest->functions;
	*ret_value = best->value;
	return best->n;
}
