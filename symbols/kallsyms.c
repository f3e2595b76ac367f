// SPDX-License-Identifier: Apache-2.0
#include "symbols/kallsyms.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "symbols/kernel_list.h"
#include "symbols/names.h"

/* A function that was added later. */
struct late_function {
	uint64_t start, end;
	char *name;
};

/* Functions added while other threads may be looking one up. */
struct late_functions {
	pthread_mutex_t lock;
	struct late_function *functions; /* in order of arrival */
	size_t n_functions, functions_size;
	/* Names of removed functions that could not be released yet. */
	char **names;
	size_t n_names, names_size;
	int (*release)(void *arg, void (*fn)(void *object), void *object);
	void *arg;
};

/* What an earlier look-up found at one address. */
struct found_function {
	UT_hash_handle hh; /* by address */
	uint64_t address, offset;
	const char *name, *module;
};

struct kallsyms {
	const struct names *names;
	struct kernel_list *list;
	struct late_functions *late;
	struct found_function *found;
	bool has_found_only; /* there is no list, only found functions */
};

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
	for (size_t i = 0; i < late->n_functions; i++)
		free(late->functions[i].name);
	free(late->names);
	free(late->functions);
	pthread_mutex_destroy(&late->lock);
	free(late);
}

int kallsyms_new_unread(const struct names *names, const char *path, struct kallsyms **ret)
{
	struct kallsyms *k;
	int err;

	if (kallsyms_are_hidden(path))
		return -EACCES;
	k = calloc(1, sizeof(*k));
	if (k) {
		k->names = names;
		k->late = late_functions_new();
	}
	err = k && k->late ? kernel_list_new(path, &k->list) : -ENOMEM;
	if (err < 0) {
		kallsyms_free(k);
		return err;
	}
	*ret = k;
	return 0;
}

int kallsyms_new(const struct names *names, const char *path, struct kallsyms **ret)
{
	struct kallsyms *k;
	int err = kallsyms_new_unread(names, path, &k);

	if (err < 0)
		return err;
	err = kernel_list_wait(k->list);
	if (err < 0)
		kallsyms_free(k);
	else
		*ret = k;
	return err;
}

void kallsyms_read_ahead(struct kallsyms *k)
{
	if (k)
		kernel_list_read_ahead(k->list);
}

int kallsyms_new_empty(const struct names *names, struct kallsyms **ret)
{
	struct kallsyms *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->names = names;
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
	return kernel_list_is_hidden(path);
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
	kernel_list_free(k->list);
	late_functions_free(k->late);
	free(k);
	return NULL;
}

void kallsyms_set_release(struct kallsyms *k,
			  int (*release)(void *arg, void (*fn)(void *object), void *object),
			  void *arg)
{
	pthread_mutex_lock(&k->late->lock);
	k->late->release = release;
	k->late->arg = arg;
	pthread_mutex_unlock(&k->late->lock);
}

/* A look-up may still be using the name. The list has room for one more. */
static void release_name(struct late_functions *late, char *name)
{
	if (!late->release || late->release(late->arg, free, name) < 0)
		late->names[late->n_names++] = name;
}

static int add_late(struct late_functions *late, uint64_t start, uint64_t size, const char *name)
{
	char *copy;
	size_t n = 0;

	if (array_reserve(late->functions, late->n_functions, late->functions_size) < 0)
		return -ENOMEM;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	/* Removes what was there before, unless memory to keep its name is short. */
	for (size_t i = 0; i < late->n_functions; i++) {
		struct late_function f = late->functions[i];

		if (f.start >= start + size || start >= f.end ||
		    array_reserve(late->names, late->n_names, late->names_size) < 0)
			late->functions[n++] = f;
		else
			release_name(late, f.name);
	}
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

	if (names_disabled(k->names))
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
	f = kernel_list_find(k->list, address);
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
		return kernel_list_bpf;
	f = kernel_list_find(k->list, address);
	return f ? f->module : NULL;
}
