// SPDX-License-Identifier: Apache-2.0
#include "kallsyms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "names.h"

struct kernel_function {
	uint64_t start;
	char *name;
};

struct kallsyms {
	struct kernel_function *functions; /* sorted by start */
	size_t n_functions, functions_size;
};

static int kallsyms_add(struct kallsyms *k, uint64_t start, const char *name)
{
	char *copy;

	if (array_reserve(k->functions, k->n_functions, k->functions_size) < 0)
		return -ENOMEM;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	k->functions[k->n_functions++] = (struct kernel_function){ start, copy };
	return 0;
}

static int kernel_function_compare(const void *a, const void *b)
{
	const struct kernel_function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int kallsyms_read(struct kallsyms *k, FILE *file)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, file) > 0) {
		uint64_t start;
		char type;
		int name_at = 0;
		char *name;

		/* "ffffffff81000000 T _text", followed by a tab and "[module]" outside the kernel */
		if (sscanf(line, "%" SCNx64 " %c %n", &start, &type, &name_at) != 2 || name_at == 0)
			continue;
		name = line + name_at;
		name[strcspn(name, "\t\n")] = '\0';
		if (start == 0 || !strchr("tTwW", type))
			continue;
		if (kallsyms_add(k, start, name) < 0)
			return -ENOMEM;
	}
	if (k->n_functions == 0)
		return -EACCES;
	qsort(k->functions, k->n_functions, sizeof(*k->functions), kernel_function_compare);
	return 0;
}

int kallsyms_new(const char *path, struct kallsyms **ret)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	struct kallsyms *k;
	int err;

	if (!file)
		return -errno;
	k = calloc(1, sizeof(*k));
	err = k ? kallsyms_read(k, file) : -ENOMEM;
	if (err < 0) {
		kallsyms_free(k);
		return err;
	}
	*ret = k;
	return 0;
}

struct kallsyms *kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return NULL;
	for (size_t i = 0; i < k->n_functions; i++)
		free(k->functions[i].name);
	free(k->functions);
	free(k);
	return NULL;
}

const char *kallsyms_find(const struct kallsyms *k, uint64_t address, uint64_t *ret_offset)
{
	size_t lo = 0, hi = names_disabled() ? 0 : k->n_functions;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->functions[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return NULL;
	*ret_offset = address - k->functions[lo - 1].start;
	return k->functions[lo - 1].name;
}
