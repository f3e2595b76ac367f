/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_FINDER_H
#define DP_SANDBOX_FINDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "elf/debug_search.h"

/*
 * A finder opens files for reading until its socket is closed. If a file system does not answer, looking
 * up, opening or closing a file may never return, and then the finder never ends. It parses nothing and has
 * CAP_DAC_READ_SEARCH alone (confine_finder()). Requests and replies are one message each.
 */

enum find_kind {
	FIND_FILE,  /* what a descriptor refers to (O_PATH) */
	FIND_PATH,  /* a regular file by its path */
	FIND_DEBUG, /* a debug file, if it may be used */
	FIND_MAP,   /* a perf map (jit_map_open()) */
	FIND_PASS,  /* as FILE; goes to a socket, and the reply has no file */
	FIND_ADD,   /* as FILE; goes to who has tried to open it (opener_add()), likewise */
	FIND_GIVEN, /* what a socket has: goes to another one (struct given), likewise */
	FIND_TEXT, /* a source file by its path: its text goes to a file (source_file_copy()), likewise */
	FIND_KEEP, /* nothing; it keeps its descriptors until it ends, without a reply */
};

/* Descriptors of a request: what is referred to, or the root of the path if it has one; PASS, GIVEN: the
 * socket; ADD: the listener; TEXT: where it goes, alone. */
enum { FIND_FROM, FIND_TO, FIND_N_FDS };

struct find_request {
	uint32_t kind;  /* enum find_kind */
	uint64_t inode; /* PATH; 0: any */
	uint64_t id;    /* ADD: of the attempt; GIVEN: at most so many bytes */
	pid_t pid;      /* MAP: in its own PID namespace, and its user */
	uid_t user;
	bool no_links;            /* PATH, TEXT: -ELOOP if there is a symbolic link on the way */
	struct debug_place place; /* DEBUG; PATH, TEXT: its path and root alone */
};

/* Its descriptor is the file: open, or only referred to (O_PATH) if it is foreign. */
struct find_reply {
	int32_t err;     /* a negative errno; or ADD: the descriptor there; TEXT: how many bytes */
	bool is_foreign; /* its file system may not answer (stored_file_is_foreign()) */
	struct stat st;  /* of the file as it was opened */
};

/* Does what is requested, if a file is found, in this process: returns an open file or a negative errno. May wait. */
int find_here(const struct find_request *request, int from, struct find_reply *ret);

/* What the finder does. Returns an exit status. */
int finder_run(int socket);

#endif
