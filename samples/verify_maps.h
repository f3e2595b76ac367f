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
 * Copies of a snapshot's facts for the thread that verifies samples. That thread may read the mappings and the files'
 * own descriptors, but nothing that they were made from. The thread that reads the rings makes and frees all this,
 * and frees nothing that the other still uses.
 */

#define VERIFY_MAPS_ANYBODY ((uid_t)-1)

struct verify_file {
	uint64_t number;   /* of the binary, which identifies it */
	bool has_segments; /* if not, no code of it can be found */
	uint64_t start;    /* of the first segment, rounded down to its alignment */
	int fd;            /* its own; -1: none */
	uid_t maker;       /* whose words it has; VERIFY_MAPS_ANYBODY: perhaps anybody's */
	/* For the thread that reads the rings only */
	struct binary *binary; /* has a user in this; NULL: let go */
	size_t n_maps;
	size_t n_bytes; /* of memory */
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
	/*
	 * The process's user when they were made; VERIFY_MAPS_ANYBODY: not known. The process may have executed a
	 * set-user-ID program before that, so it is not known either if a file belongs neither to root nor to that
	 * user.
	 */
	uid_t user;
	size_t n_mappings;
	struct verify_mapping *mappings; /* sorted by start */
	/* For the thread that reads the rings only */
	uint64_t snapshot;
	size_t n_users;    /* comparisons */
	uint64_t since_ns; /* without users since then */
	struct verify_maps *prev, *next;
	UT_hash_handle hh;
};

/* The mapping that contains an address, or NULL. */
const struct verify_mapping *verify_maps_find(const struct verify_maps *maps, uint64_t address);

/* The most maps without users that are kept: making them again duplicates many descriptors. */
#define VERIFY_MAPS_KEPT 16
/* How long they are kept: their binaries stay, even if no process has them any more. */
#define VERIFY_MAPS_KEPT_NS UINT64_C(10000000000)

/* All maps and files. Those without users are kept for the next sample. */
struct verify_maps_store {
	struct verify_maps *maps;  /* by snapshot */
	struct verify_maps *kept;  /* those without users, by time */
	struct verify_file *files; /* by number */
	size_t n_kept;
	size_t n_bytes; /* of all of them */
	uint64_t n_made;
};

/* Returns the maps of a snapshot, which then have one user more; NULL if memory is short. */
const struct verify_maps *verify_maps_get(struct verify_maps_store *store,
					  const struct snapshot *snapshot);
void verify_maps_drop(struct verify_maps_store *store, const struct verify_maps *maps,
		      uint64_t now_ns);

/* Frees those that have had no users for at least age_ns. */
void verify_maps_expire(struct verify_maps_store *store, uint64_t now_ns, uint64_t age_ns);

/* Lets go of all binaries: from now on the store may only be freed, and by any thread. */
void verify_maps_let_go(struct verify_maps_store *store);
void verify_maps_done(struct verify_maps_store *store);

#endif
