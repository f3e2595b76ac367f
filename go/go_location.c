// SPDX-License-Identifier: Apache-2.0
#include "go/go_location.h"

#include "go/inline_tree.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"

struct finder {
	const struct pclntab *table;
	const struct pclntab_function *function;
	uint32_t left; /* rest of GO_LOCATION_MAX_VALUES */
};

/* runtime/symtab.go, pcvalue() */
static int64_t value_at(struct finder *f, uint32_t values, uint64_t address)
{
	struct pclntab_values v;

	pclntab_values_init(&v, f->table, f->function, values);
	while (f->left > 0 && pclntab_values_next(&v)) {
		f->left--;
		if (address < v.last.end)
			return v.last.value;
	}
	if (f->left == 0)
		LIMIT_HIT(GO_LOCATION_MAX_VALUES);
	return -1;
}

/* runtime/symtab.go, funcline1(): both, or none */
static struct go_location location_at(struct finder *f, const char *function, uint64_t address,
				      bool lines)
{
	struct go_location location = { .function = function };
	int64_t line = lines ? value_at(f, f->function->line, address) : -1;

	if (line < 0 || line > INT32_MAX)
		return location;
	location.file =
		pclntab_file(f->table, f->function, value_at(f, f->function->file, address));
	if (location.file)
		location.line = (unsigned int)line;
	return location;
}

size_t go_locations_find(const struct go_file *file, const struct pclntab_function *function,
			 uint64_t address, bool lines, struct go_location *ret, size_t max)
{
	struct finder f = { &file->table, function, GO_LOCATION_MAX_VALUES };
	struct inline_tree tree;
	struct inline_call call;
	size_t n = 0;

	if (inline_tree_init(&tree, &file->table, function, &file->data)) {
		while (inline_tree_call(&tree, value_at(&f, tree.numbers, address), &call)) {
			if (n + 1 == max) {
				LIMIT_HIT(LOCATION_MAX);
				/* The address does not belong to the outermost function itself. */
				lines = false;
				break;
			}
			ret[n++] = location_at(&f, call.function, address, lines);
			address = call.caller;
		}
	}
	ret[n++] = location_at(&f, function->name, address, lines);
	return n;
}
