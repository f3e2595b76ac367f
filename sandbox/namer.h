/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_NAMER_H
#define DP_SANDBOX_NAMER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "limits/limit_hits.h"
#include "limits/limits.h"
#include "symbols/module.h"
#include "symbols/names.h"

/*
 * A namer is a confined process (confine.h) that finds names in binaries (symbols/module.h) until its
 * socket is closed. The binaries that it has open have numbers, which its user chooses. A request is
 * one message, and so is a reply. Locations are in the file (result_file.h) that comes with the request for them:
 *
 *     | struct location_address * n_addresses | struct kept_location * n_locations |
 *     | start of the function * n_addresses | names |
 *
 * Starts are only of functions without a name, for which NAMER_START would be the next request.
 */

enum namer_kind {
	NAMER_BEGIN, /* the first: how names are shown. The reply has what opens need (opener_end). */
	NAMER_OPEN,   /* a binary, and its debug file from a process's root if there is one; or what
		       * brings them (passage.h) */
	NAMER_FIND,   /* locations of addresses */
	NAMER_START,  /* of the function at the first address */
	NAMER_CLOSE,  /* the files of the binary, after reading symbols if `names` */
	NAMER_FORGET, /* the binary */
	NAMER_TRIM,   /* closes debug information of all */
	NAMER_N_KINDS,
};

#define NAMER_MAX_ADDRESSES 512

struct namer_request {
	uint32_t kind;     /* enum namer_kind */
	uint32_t number;   /* of the binary, below NAMER_MAX_BINARIES */
	uint32_t n;        /* FIND: number of addresses */
	bool lines, names; /* FIND, CLOSE */
	union {
		struct names_options options; /* BEGIN */
		struct {
			char path[PATH_MAX];
			char build_id[MODULE_BUILD_ID_SIZE];
		} binary; /* OPEN */
		uint64_t addresses[NAMER_MAX_ADDRESSES];
	};
};

struct namer_reply {
	int32_t err;
	uint32_t n_addresses, n_locations, names_size; /* FIND; at least one address is answered */
	uint64_t start;                                /* START */
	uint64_t memory;                               /* of all debug information */
	/* As in struct module */
	uint8_t keeps_locations, is_partial, no_debug, has_symbols;
	struct limit_hits
		limits; /* that leave out names of the binary, and that were not told before */
};

/* It has a name, or no start is known. */
#define NAMER_NO_START UINT64_MAX

/* So a reply has fewer than this. */
#define NAMER_MAX_NAMES (NAMER_ENOUGH_NAMES + 2u * LOCATION_MAX * NAMER_MAX_NAME)

/*
 * The place of the debug file with a build id, in hex, that only a server has. It is opened like any
 * other (opener.h).
 */
#define NAMER_SERVER "/dwarfprof/server/"

/* What the namer does; it closes `opens` (opener.h). NULL: it opens nothing. Returns an exit status. */
int namer_run(int socket, int *opens);

/*
 * Adds a namer's answer to the cache if it is a possible answer to the request; nothing in it is trusted.
 * `file` is the one for locations. Returns the number of answered addresses, -EPROTO for an
 * answer that no namer gives, or -ENOMEM.
 */
int namer_take(const struct namer_request *request, const struct namer_reply *reply, int file,
	       struct location_cache *to, uint64_t ret_starts[NAMER_MAX_ADDRESSES]);

#endif
