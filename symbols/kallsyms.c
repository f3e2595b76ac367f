// SPDX-License-Identifier: Apache-2.0
#include "kallsyms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "names.h"

/*
 * The list has no sizes: a function ends where the next one starts. Behind the
 * last one of a module the file knows nothing, but another module, loaded since,
 * starts a page of its own. Of BPF programs loaded since we are told.
 */
#define PAGE_SIZE 4096
#define MAX_PROGRAM_SIZE (1 << 20)

struct kernel_function {
	uint64_t start;
	const char *name;   /* NULL: what is here is no function */
	const char *module; /* NULL: the kernel itself */
	int rank;           /* among those that start here, the highest gives the name */
};

/* One that came later. */
struct late_function {
	uint64_t start, end;
	const char *name;
};

/* Those that have come while others may be looking for one. */
struct late_functions {
	pthread_mutex_t lock;
	struct late_function *functions; /* the last one told comes last */
	size_t n_functions, functions_size;
	char **names; /* of all there have been: who has asked for one uses it for as long as it likes */
	size_t n_names, names_size;
};

/* What was found at one address. */
struct found_function {
	UT_hash_handle hh; /* by address */
	uint64_t address, offset;
	const char *name, *module;
};

struct kallsyms {
	struct kernel_function *functions; /* sorted by start, one for each start */
	size_t n_functions, functions_size;
	struct late_functions *late;
	char **modules;
	size_t n_modules, modules_size;
	struct found_function *found;
	bool has_found_only; /* nothing but that is known */
};

static const char bpf_module[] = "bpf";

/* The name of the module, which lines of the same one share, as they follow each other. */
static const char *module_name(struct kallsyms *k, const char *name)
{
	if (strcmp(name, bpf_module) == 0)
		return bpf_module;
	if (k->n_modules > 0 && strcmp(k->modules[k->n_modules - 1], name) == 0)
		return k->modules[k->n_modules - 1];
	if (array_reserve(k->modules, k->n_modules, k->modules_size) < 0)
		return NULL;
	k->modules[k->n_modules] = strdup(name);
	return k->modules[k->n_modules] ? k->modules[k->n_modules++] : NULL;
}

/* Public before private before weak, and `ksys_read` before `__ksys_read`. */
static int function_rank(char type, const char *name)
{
	int rank = type == 'T' ? 200 : type == 't' ? 100 : 0;

	return rank - (int)strspn(name, "_");
}

/* Marks of the linker script where code ends, not functions (vmlinux.lds.S). */
static bool is_end(const char *name)
{
	return strcmp(name, "_etext") == 0 || strcmp(name, "_einittext") == 0;
}

static int kernel_function_compare(const void *a, const void *b)
{
	const struct kernel_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return y->rank - x->rank;
}

/* A line: "ffffffff81000000 T _text", followed by a tab and "[module]" outside the kernel. */
struct line {
	uint64_t start;
	char type;
	char *name;
	char *module; /* NULL: none */
};

/* Cut a line into its parts. False if it is not about code. */
static bool line_read(char *text, struct line *ret)
{
	int name_at = 0;
	char *end;

	if (sscanf(text, "%" SCNx64 " %c %n", &ret->start, &ret->type, &name_at) != 2 ||
	    name_at == 0 || !strchr("tTwW", ret->type))
		return false;
	ret->name = text + name_at;
	ret->module = NULL;
	end = ret->name + strcspn(ret->name, "\t\n");
	if (*end == '\t' && end[1] == '[') {
		ret->module = end + 2;
		ret->module[strcspn(ret->module, "]\n")] = '\0';
	}
	*end = '\0';
	return true;
}

static int kallsyms_add(struct kallsyms *k, const struct line *line)
{
	struct kernel_function f = { .start = line->start };

	if (array_reserve(k->functions, k->n_functions, k->functions_size) < 0)
		return -ENOMEM;
	if (line->module) {
		f.module = module_name(k, line->module);
		if (!f.module)
			return -ENOMEM;
	}
	if (line->module || !is_end(line->name)) {
		f.name = strdup(line->name);
		if (!f.name)
			return -ENOMEM;
		f.rank = function_rank(line->type, line->name);
	}
	k->functions[k->n_functions++] = f;
	return 0;
}

/* Of functions that start together, keep the first, which ranks highest. */
static void remove_aliases(struct kallsyms *k)
{
	size_t n = 0;

	for (size_t i = 0; i < k->n_functions; i++) {
		if (n > 0 && k->functions[i].start == k->functions[n - 1].start)
			free((char *)k->functions[i].name);
		else
			k->functions[n++] = k->functions[i];
	}
	k->n_functions = n;
}

static int kallsyms_read(struct kallsyms *k, FILE *file)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	struct line line;

	while (getline(&text, &size, file) > 0)
		if (line_read(text, &line) && line.start != 0 && kallsyms_add(k, &line) < 0)
			return -ENOMEM;
	if (k->n_functions == 0)
		return -EACCES;
	qsort(k->functions, k->n_functions, sizeof(*k->functions), kernel_function_compare);
	remove_aliases(k);
	return 0;
}

static struct late_functions *late_functions_new(void)
{
	struct late_functions *late = calloc(1, sizeof(*late));

	if (late)
		pthread_mutex_init(&late->lock, NULL);
	return late;
}

static void late_functions_free(struct late_functions *late)
{
	if (!late)
		return;
	for (size_t i = 0; i < late->n_names; i++)
		free(late->names[i]);
	free(late->names);
	free(late->functions);
	pthread_mutex_destroy(&late->lock);
	free(late);
}

int kallsyms_new(const char *path, struct kallsyms **ret)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	struct kallsyms *k;
	int err;

	if (!file)
		return -errno;
	k = calloc(1, sizeof(*k));
	if (k)
		k->late = late_functions_new();
	err = k && k->late ? kallsyms_read(k, file) : -ENOMEM;
	if (err < 0) {
		kallsyms_free(k);
		return err;
	}
	*ret = k;
	return 0;
}

int kallsyms_new_empty(struct kallsyms **ret)
{
	struct kallsyms *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->has_found_only = true;
	*ret = k;
	return 0;
}

int kallsyms_add_found(struct kallsyms *k, uint64_t address, const char *name, uint64_t offset,
		       const char *module)
{
	struct found_function *f;

	HASH_FIND(hh, k->found, &address, sizeof(address), f);
	if (!f) {
		if (HASH_COUNT(k->found) == KALLSYMS_MAX_FOUND)
			return -ENOSPC;
		f = calloc(1, sizeof(*f));
		if (!f)
			return -ENOMEM;
		f->address = address;
		HASH_ADD(hh, k->found, address, sizeof(f->address), f);
		if (!HASH_IS_ADDED(hh, f)) {
			free(f);
			return -ENOMEM;
		}
	}
	f->name = name;
	f->offset = offset;
	f->module = module;
	return 0;
}

static const struct found_function *find_found(const struct kallsyms *k, uint64_t address)
{
	struct found_function *f;

	if (!k->has_found_only)
		return NULL;
	HASH_FIND(hh, k->found, &address, sizeof(address), f);
	return f;
}

bool kallsyms_are_hidden(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	struct line line;

	/* Data of each CPU may have the address zero; a function has not. */
	while (file && getline(&text, &size, file) > 0)
		if (line_read(text, &line))
			return line.start == 0;
	return false;
}

struct kallsyms *kallsyms_free(struct kallsyms *k)
{
	struct found_function *found, *next;

	if (!k)
		return NULL;
	HASH_ITER(hh, k->found, found, next) {
		HASH_DEL(k->found, found);
		free(found);
	}
	for (size_t i = 0; i < k->n_functions; i++)
		free((char *)k->functions[i].name);
	for (size_t i = 0; i < k->n_modules; i++)
		free(k->modules[i]);
	free(k->functions);
	late_functions_free(k->late);
	free(k->modules);
	free(k);
	return NULL;
}

static int add_late(struct late_functions *late, uint64_t start, uint64_t size, const char *name)
{
	char *copy;
	size_t n = 0;

	if (array_reserve(late->functions, late->n_functions, late->functions_size) < 0 ||
	    array_reserve(late->names, late->n_names, late->names_size) < 0)
		return -ENOMEM;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	late->names[late->n_names++] = copy;
	/* What was there before is gone. */
	for (size_t i = 0; i < late->n_functions; i++)
		if (late->functions[i].start >= start + size || start >= late->functions[i].end)
			late->functions[n++] = late->functions[i];
	late->functions[n] = (struct late_function){ start, start + size, copy };
	late->n_functions = n + 1;
	return 0;
}

int kallsyms_add_late(struct kallsyms *k, uint64_t start, uint64_t size, const char *name)
{
	int err;

	pthread_mutex_lock(&k->late->lock);
	err = add_late(k->late, start, size, name);
	pthread_mutex_unlock(&k->late->lock);
	return err;
}

/* The last function that starts at or below the address, if it can reach so far. */
static const struct kernel_function *find_listed(const struct kallsyms *k, uint64_t address)
{
	const struct kernel_function *f;
	size_t lo = 0, hi = k->n_functions;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->functions[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return NULL;
	f = &k->functions[lo - 1];
	if (!f->name)
		return NULL;
	if (f->module == bpf_module && address - f->start >= MAX_PROGRAM_SIZE)
		return NULL;
	if (f->module && f->module != bpf_module &&
	    (lo == k->n_functions || k->functions[lo].module != f->module) &&
	    address / PAGE_SIZE != f->start / PAGE_SIZE)
		return NULL;
	return f;
}

static bool find_late(const struct kallsyms *k, uint64_t address, struct late_function *ret)
{
	struct late_functions *late = k->late;
	bool found = false;

	pthread_mutex_lock(&late->lock);
	for (size_t i = late->n_functions; !found && i-- > 0;) {
		const struct late_function *f = &late->functions[i];

		found = f->start <= address && address < f->end;
		if (found)
			*ret = *f;
	}
	pthread_mutex_unlock(&late->lock);
	return found;
}

const char *kallsyms_find(const struct kallsyms *k, uint64_t address, uint64_t *ret_offset)
{
	const struct found_function *found;
	struct late_function late;
	const struct kernel_function *f;

	if (names_disabled())
		return NULL;
	found = find_found(k, address);
	if (found) {
		*ret_offset = found->offset;
		return found->name;
	}
	if (k->has_found_only)
		return NULL;
	if (find_late(k, address, &late)) {
		*ret_offset = address - late.start;
		return late.name;
	}
	f = find_listed(k, address);
	if (!f)
		return NULL;
	*ret_offset = address - f->start;
	return f->name;
}

const char *kallsyms_find_module(const struct kallsyms *k, uint64_t address)
{
	const struct found_function *found = find_found(k, address);
	const struct kernel_function *f;
	struct late_function late;

	if (found || k->has_found_only)
		return found ? found->module : NULL;
	if (find_late(k, address, &late))
		return bpf_module;
	f = find_listed(k, address);
	return f ? f->module : NULL;
}
