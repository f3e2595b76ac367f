/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_NAME_FILES_H
#define DP_SYMBOLS_NAME_FILES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/digest.h"
#include "cache/steady_file.h"
#include "symbols/name_copies.h"

/*
 * The files that a binary's names are made of: itself, and separate files with debug information.
 * Kept names belong to their bytes. Steady files (cache/steady_file.h) are read as they are and
 * hashed when names are kept; copies of others are read, so that nobody can show one thing to
 * libdw, and something else to be hashed.
 */

/* In bytes: a larger steady file is told by its identity alone, since hashing it takes long. */
#define NAME_HASH_MAX (UINT64_C(32) << 20)
/* In bytes: a larger file that is not steady is not copied, nor hashed. */
#define NAME_COPY_MAX (UINT64_C(128) << 20)

/* In ns: a file that takes longer is not copied, and counts as changed. */
#define NAME_FILE_TIME_MAX UINT64_C(1000000000)

enum name_files_mode {
	NAME_FILES_IGNORED, /* names will not be kept */
	NAME_FILES_NOTED,   /* all must be steady */
	NAME_FILES_COPIED,  /* those that are not are copied */
};

/* What tells a file's bytes from others. Kept on disk. */
struct file_version {
	struct digest digest;          /* zeros: it is steady, and too large */
	struct file_identity identity; /* if it is steady; else zeros */
	uint64_t size;
};

struct name_file {
	char *path; /* "": the binary itself */
	struct file_version version;
	bool is_read; /* in place: it must still be the same when names are kept */
	int copy;     /* descriptor; -1: it is not copied, and the rest does not matter */
	uid_t user;   /* whose file was copied, and what it said of itself */
	struct file_identity origin;
};

struct name_files {
	enum name_files_mode mode;
	struct name_copies *copies;     /* of all binaries together */
	const atomic_bool *stop;        /* nothing is copied or hashed once this is true */
	const struct disk_cache *cache; /* whose list of mounts is used; or NULL */
	struct name_file *list;
	size_t n, size;
	bool is_incomplete; /* names must not be kept: a file is not steady, or cannot be copied */
	bool has_shared;    /* one is what dwz has moved common parts to */
};

/* Forgets all files, and closes copies, which nobody may read any more. */
void name_files_reset(struct name_files *files, enum name_files_mode mode);

/*
 * Adds a file that is about to be parsed. Returns the descriptor to parse, which is fd, or that of
 * a copy, which `files` keeps until name_files_reset(). `path`: "" for the binary.
 */
int name_files_add(struct name_files *files, int fd, const char *path);

/* The copy of the binary, to be read in its place; -1: there is none. */
int name_files_copy(const struct name_files *files);

/* Adds a file that kept names were made of. */
void name_files_add_kept(struct name_files *files, const char *path,
			 const struct file_version *version);

/*
 * Hashes steady files; the binary is open at `binary`. Returns 0, -ESTALE if one has changed since,
 * or some names are of other files, -ECANCELED, -ETIMEDOUT, or another negative errno.
 */
int name_files_hash(struct name_files *files, int binary);

/*
 * Opens a file by the name that it had. What is no regular file, or is a server's, is not opened,
 * which may have effects, or take long. Returns a descriptor or a negative errno.
 */
int name_file_open(const char *path);

/*
 * Whether a file has these bytes: a steady one with this identity does; others are hashed if they
 * have the same size, until *files->stop is true or it takes too long. If it is now steady with another identity, that
 * is stored.
 */
bool name_file_is_same(const struct name_files *files, int fd, struct file_version *version);

#endif
