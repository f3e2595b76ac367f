/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_LOCATION_CACHE_H
#define DP_SYMBOLS_LOCATION_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/names.h"
#include "symbols/location.h"

/* What several caches take together, in bytes: addresses with their locations, and names and paths. */
struct location_memory {
	_Atomic uint64_t symbols, strings;
};

/*
 * The locations of looked-up addresses in one binary. It has one copy of each name, so the debug
 * information can be closed.
 */
struct location_cache {
	enum names_demangle style;                  /* for added functions; set by the caller */
	struct location_cache_entry *entries;       /* by address */
	struct location_cache_name *functions, *go; /* by their original, mangled names */
	struct location_cache_name *files;          /* functions by their displayed names, too */
	size_t n_entries;
	uint64_t symbols, strings;      /* as in struct location_memory */
	struct location_memory *memory; /* has these, too; NULL: nobody counts. Set by the caller */
};

/* Empties it; what the caller has set remains. */
void location_cache_done(struct location_cache *cache);

/*
 * Finds the locations of an address. False: it is not in the cache, or without lines although they
 * are requested. The locations live until the next address is added.
 */
bool location_cache_find(const struct location_cache *cache, uint64_t address, bool lines,
			 const struct source_location **ret, size_t *ret_n);

/* Adds the locations of an address and demangles the functions' names. 0 or -ENOMEM. */
int location_cache_add(struct location_cache *cache, uint64_t address, bool lines,
		       const struct source_location *locations, size_t n);

/*
 * The same for locations from an earlier run or another process, with displayed names and without a
 * dir. `go`: from Go's tables.
 */
int location_cache_add_shown(struct location_cache *cache, uint64_t address, bool lines, bool go,
			     const struct source_location *locations, size_t n);

/* The same for locations from Go's tables. location_cache_for_each() leaves these out. */
int location_cache_add_go(struct location_cache *cache, uint64_t address, bool lines,
			  const struct source_location *locations, size_t n);

/* Whether the address is in the cache with locations from Go's tables. */
bool location_cache_is_go(const struct location_cache *cache, uint64_t address);

/* Calls `fn` for each address, in no particular order, until it returns nonzero; returns that. */
int location_cache_for_each(const struct location_cache *cache,
			    int (*fn)(void *arg, uint64_t address, bool lines,
				      const struct source_location *locations, size_t n),
			    void *arg);

#endif
