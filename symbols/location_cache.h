/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_LOCATION_CACHE_H
#define DP_SYMBOLS_LOCATION_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/names.h"
#include "symbols/location.h"

/*
 * The locations of the addresses that were asked for, of one binary. It has its own
 * copies of all names, each once, so that the debug information can be closed.
 */
struct location_cache {
	enum names_demangle style;            /* of functions that are added; the caller sets it */
	struct location_cache_entry *entries; /* by address */
	struct location_cache_name *functions, *go; /* by their names before they were demangled */
	struct location_cache_name *files;          /* and functions as they were shown */
	size_t n_entries;
};

/* A full cache is emptied, and starts anew. */
#define LOCATION_CACHE_MAX 65536

/* Empty it; the style stays. */
void location_cache_done(struct location_cache *cache);

/*
 * Whether the address is known, with lines if these are wanted, and its locations.
 * They live until the next address is added.
 */
bool location_cache_find(const struct location_cache *cache, uint64_t address, bool lines,
			 const struct source_location **ret, size_t *ret_n);

/* Keep the locations of an address, with the functions' names demangled. 0 or -ENOMEM. */
int location_cache_add(struct location_cache *cache, uint64_t address, bool lines,
		       const struct source_location *locations, size_t n);

/* The same of locations as they were shown before: with their names as they are, and no dir. */
int location_cache_add_shown(struct location_cache *cache, uint64_t address, bool lines,
			     const struct source_location *locations, size_t n);

/* The same of locations that Go's tables have. They are not those that location_cache_for_each() tells. */
int location_cache_add_go(struct location_cache *cache, uint64_t address, bool lines,
			  const struct source_location *locations, size_t n);

/* Call `fn` for all addresses, in no order, until it returns something other than 0; that. */
int location_cache_for_each(const struct location_cache *cache,
			    int (*fn)(void *arg, uint64_t address, bool lines,
				      const struct source_location *locations, size_t n),
			    void *arg);

#endif
