// SPDX-License-Identifier: Apache-2.0
#include "go/inline_tree.h"

#include <string.h>

/* runtime/symtab.go, struct inlinedCall, up to Go 1.19 */
struct call_1_16 {
	int16_t outer;
	uint8_t id, zero;
	int32_t file, line;
	int32_t name;
	int32_t caller;
};

/* runtime/symtabinl.go, later versions */
struct call {
	uint8_t id, zero[3];
	int32_t name;
	int32_t caller;
	int32_t first_line; /* of the called function */
};

bool inline_tree_init(struct inline_tree *ret, const struct pclntab *t,
		      const struct pclntab_function *f, const struct go_data *data)
{
	uint32_t numbers = pclntab_more_values(t, f, PCLNTAB_VALUES_INLINED);
	uint64_t at;

	if (numbers == 0 || !pclntab_data(t, f, PCLNTAB_DATA_INLINED, &at) || at < data->start ||
	    at - data->start >= data->size)
		return false;
	*ret = (struct inline_tree){
		.table = t,
		.function = f,
		.calls = data->bytes + (at - data->start),
		.size = data->size - (at - data->start),
		.numbers = numbers,
	};
	return true;
}

/* Reads only the name and the distance from the function's start. */
static bool read_call(const struct inline_tree *tree, uint64_t number, int32_t *ret_name,
		      int32_t *ret_caller)
{
	struct call_1_16 old;
	struct call call;

	if (tree->table->layout != PCLNTAB_GO_1_20) {
		if (number >= tree->size / sizeof(old))
			return false;
		memcpy(&old, tree->calls + number * sizeof(old), sizeof(old));
		*ret_name = old.name;
		*ret_caller = old.caller;
		return true;
	}
	if (number >= tree->size / sizeof(call))
		return false;
	memcpy(&call, tree->calls + number * sizeof(call), sizeof(call));
	*ret_name = call.name;
	*ret_caller = call.caller;
	return true;
}

bool inline_tree_call(const struct inline_tree *tree, int64_t number, struct inline_call *ret)
{
	const struct pclntab_function *f = tree->function;
	int32_t name, caller;

	if (number < 0 || !read_call(tree, (uint64_t)number, &name, &caller) || caller < 0 ||
	    (uint64_t)caller >= f->next - f->start)
		return false;
	ret->function = pclntab_name(tree->table, name);
	ret->caller = f->start + (uint64_t)caller;
	/* Names are consecutive: an offset inside another name is invalid. */
	return ret->function && ret->function[0] != '\0' &&
	       (name == 0 || ret->function[-1] == '\0');
}

bool inline_tree_is_sound(const struct inline_tree *tree, unsigned int *left)
{
	struct pclntab_values numbers;
	struct inline_call call;

	pclntab_values_init(&numbers, tree->table, tree->function, tree->numbers);
	for (; *left > 0 && pclntab_values_next(&numbers); (*left)--)
		if (numbers.last.value >= 0 && !inline_tree_call(tree, numbers.last.value, &call))
			return false;
	return true;
}
