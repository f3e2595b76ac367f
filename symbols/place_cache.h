/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_PLACE_CACHE_H
#define DP_SYMBOLS_PLACE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/names.h"
#include "symbols/place.h"

/*
 * The places of the addresses that were asked for, of one binary. It has its own
 * copies of all names, each once, so that the debug information can be closed.
 */
struct place_cache {
	enum names_demangle style;         /* of functions that are added; the caller sets it */
	struct place_cache_entry *entries; /* by address */
	struct place_cache_name *functions, *go; /* by their names before they were demangled */
	struct place_cache_name *files;          /* and functions as they were shown */
	size_t n_entries;
};

/* A full cache is emptied, and starts anew. */
#define PLACE_CACHE_MAX 65536

/* Empty it; the style stays. */
void place_cache_done(struct place_cache *cache);

/*
 * Whether the address is known, with lines if these are wanted, and its places.
 * They live until the next address is added.
 */
bool place_cache_find(const struct place_cache *cache, uint64_t address, bool lines,
		      const struct place **ret, size_t *ret_n);

/* Keep the places of an address, with the functions' names demangled. 0 or -ENOMEM. */
int place_cache_add(struct place_cache *cache, uint64_t address, bool lines,
		    const struct place *places, size_t n);

/* The same of places as they were shown before: with their names as they are, and no dir. */
int place_cache_add_shown(struct place_cache *cache, uint64_t address, bool lines,
			  const struct place *places, size_t n);

/* The same of places that Go's tables have. They are not those that place_cache_for_each() tells. */
int place_cache_add_go(struct place_cache *cache, uint64_t address, bool lines,
		       const struct place *places, size_t n);

/* Call `fn` for all addresses, in no order, until it returns something other than 0; that. */
int place_cache_for_each(const struct place_cache *cache,
			 int (*fn)(void *arg, uint64_t address, bool lines,
				   const struct place *places, size_t n),
			 void *arg);

#endif
