/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_LOCATION_LIST_H
#define DP_SYMBOLS_LOCATION_LIST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "symbols/location_cache.h"

/*
 * The locations of addresses as bytes, without pointers: for files (location_file.h) and other
 * processes (name_reader.h). There are three sections: a struct location_address for each address; a
 * struct kept_location for each location, by address, the innermost first; and names, zero-terminated,
 * of which the first is empty.
 */

enum { LOCATION_ADDRESSES, LOCATION_LOCATIONS, LOCATION_NAMES, LOCATION_N_SECTIONS };

struct location_address {
	uint64_t address;     /* in the file's own address space */
	uint32_t n_locations; /* at most LOCATION_MAX */
	uint32_t flags;       /* LOCATION_LINES, LOCATION_GO */
};

#define LOCATION_LINES 1u
#define LOCATION_GO 2u

/* Names are offsets in the names. 0 is unknown in each field. */
struct kept_location {
	uint32_t function, file;
	uint32_t line;
	uint32_t column; /* with the bit LOCATION_INLINED */
};

#define LOCATION_INLINED (UINT32_C(1) << 31)

/* A list that is being written. Starts as zero; location_list_done() frees it. */
struct location_list {
	struct location_address *addresses;
	struct kept_location *locations;
	char *names;
	size_t n_addresses, addresses_size, n_locations, locations_size, n_names, names_size;
	struct location_met *met;
};

void location_list_done(struct location_list *list);

/*
 * Appends an address with its locations, which have displayed names and no dir. Equal pointers are
 * taken for equal names, which stay valid until location_list_done(). 0, -ENOMEM, or -EFBIG if there
 * are more names than an offset can tell.
 */
int location_list_add(struct location_list *list, uint64_t address, uint32_t flags,
		      const struct source_location *locations, size_t n);

/* The bytes, which belong to the list. */
void location_list_sections(const struct location_list *list,
			    struct iovec ret[LOCATION_N_SECTIONS]);

/*
 * Adds the locations in bytes of any origin to a cache. -EBADMSG: they are not sound, or have other
 * flags than these, and nothing was added; or -ENOMEM.
 */
int location_list_read(const struct iovec sections[LOCATION_N_SECTIONS], uint32_t flags,
		       struct location_cache *to);

#endif
