// SPDX-License-Identifier: Apache-2.0
#include "symbols/go_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/go_program.h"
#include "go/go_location.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"

/* What remains of a function after the file is closed. */
struct function {
	uint64_t start, next;
	uint64_t name; /* offset in names */
};

struct go_names {
	struct go_program *program; /* NULL: the file was closed */
	const struct go_file *file; /* its tables */
	struct function *functions; /* by start */
	size_t n_functions;
	char *names;
};

int go_names_new(int fd, struct go_names **ret)
{
	struct go_names *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	err = go_program_new(fd, &g->program);
	if (err < 0) {
		free(g);
		return err;
	}
	g->file = go_program_tables(g->program);
	*ret = g;
	return 0;
}

struct go_names *go_names_free(struct go_names *g)
{
	if (!g)
		return NULL;
	go_program_free(g->program);
	free(g->functions);
	free(g->names);
	free(g);
	return NULL;
}

/* The table also has C code that Go's linker has linked itself: its address and name. */
static bool is_go(const struct pclntab_function *f)
{
	return f->line != 0;
}

/* Lists the functions with their names in the table, and the range of these names. */
static size_t list_functions(const struct pclntab *t, struct function *ret, const char **ret_first,
			     const char **ret_end)
{
	uint64_t left = GO_NAMES_MAX;
	size_t n = 0;

	*ret_first = *ret_end = NULL;
	for (uint64_t i = 0; i < t->n_functions; i++) {
		struct pclntab_function f;
		const char *end;

		if (left <= PCLNTAB_NAME_MAX) {
			LIMIT_HIT(GO_NAMES_MAX);
			break;
		}
		if (pclntab_function(t, i, &f) < 0 || !is_go(&f))
			continue;
		end = f.name + strlen(f.name) + 1;
		left -= (uint64_t)(end - f.name);
		if (!*ret_first || f.name < *ret_first)
			*ret_first = f.name;
		if (end > *ret_end)
			*ret_end = end;
		ret[n++] = (struct function){ f.start, f.next, (uint64_t)(uintptr_t)f.name };
	}
	return n;
}

int go_names_detach(struct go_names *g)
{
	const char *first, *end;

	if (!g->program)
		return 0;
	g->functions = malloc((g->file->table.n_functions + 1) * sizeof(*g->functions));
	if (!g->functions)
		return -ENOMEM;
	g->n_functions = list_functions(&g->file->table, g->functions, &first, &end);
	/* Names share their common parts, so the whole range is copied at once. */
	g->names = malloc((size_t)(end - first) + 1);
	if (!g->names) {
		free(g->functions);
		g->functions = NULL;
		return -ENOMEM;
	}
	if (first)
		memcpy(g->names, first, (size_t)(end - first));
	for (size_t i = 0; i < g->n_functions; i++)
		g->functions[i].name -= (uint64_t)(uintptr_t)first;
	g->program = go_program_free(g->program);
	return 0;
}

static int function_compare(const void *key, const void *element)
{
	const uint64_t *address = key;
	const struct function *f = element;

	if (*address < f->start)
		return -1;
	return *address >= f->next;
}

/* Finds a function in the copy. */
static const struct function *find_kept(const struct go_names *g, uint64_t address)
{
	return g->n_functions == 0 ? NULL :
				     bsearch(&address, g->functions, g->n_functions,
					     sizeof(*g->functions), function_compare);
}

size_t go_names_find(const struct go_names *g, uint64_t address, bool lines,
		     struct source_location locations[LOCATION_MAX])
{
	struct go_location found[LOCATION_MAX];
	const struct function *kept;
	struct pclntab_function f;
	size_t n;

	if (!g->program) {
		kept = find_kept(g, address);
		if (!kept)
			return 0;
		locations[0] = (struct source_location){ .function = g->names + kept->name };
		return 1;
	}
	if (pclntab_find(&g->file->table, address, &f) < 0 || !is_go(&f))
		return 0;
	n = go_locations_find(g->file, &f, address, lines, found, LOCATION_MAX);
	for (size_t i = 0; i < n; i++)
		locations[i] = (struct source_location){
			.function = found[i].function,
			.file = found[i].file,
			.line = found[i].line,
			.inlined = i + 1 < n,
		};
	return n;
}

const char *go_names_find_other(const struct go_names *g, uint64_t address)
{
	struct pclntab_function f;

	if (!g->program || pclntab_find(&g->file->table, address, &f) < 0 || is_go(&f))
		return NULL;
	return f.name;
}

int go_names_find_start(const struct go_names *g, uint64_t address, uint64_t *ret)
{
	const struct function *kept;
	struct pclntab_function f;

	if (!g->program) {
		kept = find_kept(g, address);
		if (!kept)
			return -ENOENT;
		*ret = kept->start;
		return 0;
	}
	if (pclntab_find(&g->file->table, address, &f) < 0 || !is_go(&f))
		return -ENOENT;
	*ret = f.start;
	return 0;
}
