// SPDX-License-Identifier: Apache-2.0
#include "symbols/location_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "limits/limits.h"
#include "symbols/demangle.h"

struct location_cache_entry {
	UT_hash_handle hh;
	uint64_t address;
	size_t n;
	bool lines;
	bool go;
	struct source_location locations[];
};

/* The kind of names that added locations have. */
enum naming { NAMING_SYMBOL, NAMING_SHOWN, NAMING_GO };

struct location_cache_name {
	UT_hash_handle hh;
	char *shown; /* the name in locations */
	char key[];  /* the name in the debug information */
};

/* More or, with an unsigned number that wraps, less. */
static void count(struct location_cache *cache, uint64_t symbols, uint64_t strings)
{
	cache->symbols += symbols;
	cache->strings += strings;
	if (!cache->memory)
		return;
	atomic_fetch_add(&cache->memory->symbols, symbols);
	atomic_fetch_add(&cache->memory->strings, strings);
}

static size_t entry_size(size_t n_locations)
{
	return sizeof(struct location_cache_entry) + n_locations * sizeof(struct source_location);
}

static void remove_entry(struct location_cache *cache, struct location_cache_entry *e)
{
	HASH_DEL(cache->entries, e);
	count(cache, -entry_size(e->n), 0);
	free(e);
	cache->n_entries--;
}

static void free_names(struct location_cache_name **names)
{
	struct location_cache_name *name, *next;

	HASH_ITER(hh, *names, name, next) {
		HASH_DEL(*names, name);
		free(name->shown);
		free(name);
	}
}

void location_cache_done(struct location_cache *cache)
{
	struct location_cache_entry *e, *next;

	HASH_ITER(hh, cache->entries, e, next)
		remove_entry(cache, e);
	free_names(&cache->functions);
	free_names(&cache->go);
	free_names(&cache->files);
	count(cache, 0, -cache->strings);
}

bool location_cache_find(const struct location_cache *cache, uint64_t address, bool lines,
			 const struct source_location **ret, size_t *ret_n)
{
	struct location_cache_entry *e;

	HASH_FIND(hh, cache->entries, &address, sizeof(address), e);
	if (!e || (lines && !e->lines))
		return false;
	*ret = e->locations;
	*ret_n = e->n;
	return true;
}

bool location_cache_is_go(const struct location_cache *cache, uint64_t address)
{
	struct location_cache_entry *e;

	HASH_FIND(hh, cache->entries, &address, sizeof(address), e);
	return e && e->go;
}

/* The single copy of a name, made by `show` when first needed; NULL if memory is short. */
static const char *keep_name(struct location_cache *cache, struct location_cache_name **names,
			     const char *key, char *(*show)(const char *, enum names_demangle))
{
	struct location_cache_name *name;
	size_t size = strlen(key);

	HASH_FIND(hh, *names, key, size, name);
	if (name)
		return name->shown;
	name = calloc(1, sizeof(*name) + size + 1);
	if (!name)
		return NULL;
	memcpy(name->key, key, size);
	name->shown = show(key, cache->style);
	if (name->shown)
		HASH_ADD(hh, *names, key, size, name);
	if (!name->shown || !HASH_IS_ADDED(hh, name)) {
		free(name->shown);
		free(name);
		return NULL;
	}
	count(cache, 0, sizeof(*name) + size + 1 + strlen(name->shown) + 1);
	return name->shown;
}

static char *show_as_it_is(const char *name, enum names_demangle style)
{
	return strdup(name);
}

/* The path of a file including its directory. */
static const char *keep_file(struct location_cache *cache, const struct source_location *location)
{
	_cleanup_free_ char *path = NULL;

	if (!location->dir)
		return keep_name(cache, &cache->files, location->file, show_as_it_is);
	if (asprintf(&path, "%s/%s", location->dir, location->file) < 0) {
		path = NULL;
		return NULL;
	}
	return keep_name(cache, &cache->files, path, show_as_it_is);
}

/* Displayed names, names in debug information and Go's names are separate. */
static const char *keep_function(struct location_cache *cache, const char *function,
				 enum naming naming)
{
	switch (naming) {
	case NAMING_SYMBOL:
		return keep_name(cache, &cache->functions, function, demangle);
	case NAMING_SHOWN:
		return keep_name(cache, &cache->files, function, show_as_it_is);
	case NAMING_GO:
		return keep_name(cache, &cache->go, function, demangle_go);
	}
	return NULL;
}

/* If memory for a name is short, the location goes without it. */
static void keep_names(struct location_cache *cache, struct source_location *location,
		       enum naming naming)
{
	if (location->function)
		location->function = keep_function(cache, location->function, naming);
	if (location->file)
		location->file = keep_file(cache, location);
	location->dir = NULL;
}

static int add(struct location_cache *cache, uint64_t address, bool lines,
	       const struct source_location *locations, size_t n, enum naming naming, bool go)
{
	struct location_cache_entry *e;

	if (cache->n_entries == LOCATION_CACHE_MAX)
		location_cache_done(cache);
	HASH_FIND(hh, cache->entries, &address, sizeof(address), e);
	if (e)
		remove_entry(cache, e);
	e = calloc(1, entry_size(n));
	if (!e)
		return -ENOMEM;
	e->address = address;
	e->lines = lines;
	e->go = go;
	e->n = n;
	for (size_t i = 0; i < n; i++) {
		e->locations[i] = locations[i];
		keep_names(cache, &e->locations[i], naming);
	}
	HASH_ADD(hh, cache->entries, address, sizeof(address), e);
	if (!HASH_IS_ADDED(hh, e)) {
		free(e);
		return -ENOMEM;
	}
	cache->n_entries++;
	count(cache, entry_size(n), 0);
	return 0;
}

int location_cache_add(struct location_cache *cache, uint64_t address, bool lines,
		       const struct source_location *locations, size_t n)
{
	return add(cache, address, lines, locations, n, NAMING_SYMBOL, false);
}

int location_cache_add_shown(struct location_cache *cache, uint64_t address, bool lines, bool go,
			     const struct source_location *locations, size_t n)
{
	return add(cache, address, lines, locations, n, NAMING_SHOWN, go);
}

int location_cache_add_go(struct location_cache *cache, uint64_t address, bool lines,
			  const struct source_location *locations, size_t n)
{
	return add(cache, address, lines, locations, n, NAMING_GO, true);
}

int location_cache_for_each(const struct location_cache *cache,
			    int (*fn)(void *arg, uint64_t address, bool lines,
				      const struct source_location *locations, size_t n),
			    void *arg)
{
	int err = 0;

	for (const struct location_cache_entry *e = cache->entries; err == 0 && e; e = e->hh.next)
		if (!e->go)
			err = fn(arg, e->address, e->lines, e->locations, e->n);
	return err;
}
