/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_VERIFY_MAPS_H
#define DP_SAMPLES_VERIFY_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "process/snapshot.h"

/*
 * What a snapshot says, as values, for the thread that verifies samples: it may read the mappings
 * and the files' own descriptors, and nothing that they were made from. The thread that reads the
 * rings makes and frees all this, and frees nothing that it has handed over and not got back.
 */

struct verify_file {
	uint64_t number;   /* of the binary, which identifies it */
	bool has_segments; /* if not, no code of it can be found */
	uint64_t start;    /* of the first segment, rounded down to its alignment */
	int fd;            /* its own; -1: none */
	/* For the thread that reads the rings only */
	struct binary *binary; /* has a user in this; NULL: let go */
	size_t n_maps;
	bool is_foreign;
	UT_hash_handle hh;
};

struct verify_mapping {
	uint64_t start, end, bias; /* as in struct mapping */
	struct verify_file *file;  /* NULL: code that is in no file */
	struct module *module;     /* of the file, to put into frames; not to be looked into */
};

/* The mappings of a snapshot. */
struct verify_maps {
	uint64_t number; /* never used again, unlike the memory */
	pid_t pid;
	size_t n_mappings;
	struct verify_mapping *mappings; /* sorted by start */
	/* For the thread that reads the rings only */
	uint64_t snapshot;
	size_t n_users; /* comparisons */
	uint64_t used;  /* when last asked for: grows */
	UT_hash_handle hh;
};

/* The mapping that contains an address, or NULL. */
const struct verify_mapping *verify_maps_find(const struct verify_maps *maps, uint64_t address);

/* All maps and files. Those without users are kept while few, for the next sample. */
struct verify_maps_store {
	struct verify_maps *maps;  /* by snapshot */
	struct verify_file *files; /* by number */
	uint64_t n_made, n_used;
};

/* Returns the maps of a snapshot, which then have one user more; NULL if memory is short. */
const struct verify_maps *verify_maps_get(struct verify_maps_store *store,
					  const struct snapshot *snapshot);
void verify_maps_drop(struct verify_maps_store *store, const struct verify_maps *maps);

/* Lets go of all binaries: from now on the store may only be freed, and by any thread. */
void verify_maps_let_go(struct verify_maps_store *store);
void verify_maps_done(struct verify_maps_store *store);

#endif
