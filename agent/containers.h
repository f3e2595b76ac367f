/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_CONTAINERS_H
#define DP_AGENT_CONTAINERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "sandbox/container_file.h"

struct parsers;

/*
 * The names of this machine's containers by their ids, from the state files of runtimes that root runs: Docker,
 * containerd (also k3s's and nerdctl's), CRI-O and Podman. A parser reads each file (container_file.h). Files
 * that others than root and this process's user may write to are ignored.
 */
struct container {
	UT_hash_handle hh; /* by id */
	char id[CONTAINER_ID_SIZE];
	struct container_names names; /* empty: not known */
	uint64_t used_ns;
	uint64_t again_ns; /* when files may be read again, if it is not known */
};

#define CONTAINERS_AGAIN_NS UINT64_C(60000000000)
/* One that nobody asks for is forgotten. */
#define CONTAINERS_FORGET_NS UINT64_C(300000000000)

/* Starts as zeros, with a root directory that the caller keeps; "": that of this process. */
struct containers {
	const char *root;
	struct parsers *parsers; /* held; NULL: this process parses */
	struct container *all;
	uint64_t swept_ns;
};

void containers_done(struct containers *containers);

/*
 * id: 64 hexadecimal digits; now_ns: of any clock. Waits for a parser if the id is new. NULL: not known. The
 * names are valid until the next call.
 */
const struct container_names *containers_find(struct containers *containers, const char *id,
					      uint64_t now_ns);

#endif
