/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CACHE_CACHED_FILE_H
#define DP_CACHE_CACHED_FILE_H

#include <stdbool.h>
#include <sys/uio.h>

#include "cache/disk_cache.h"
#include "cache/file_digest.h"
#include "cache/stored_file.h"

/*
 * The one format of the cache's files: a head, and sections whose contents are their user's. In
 * the machine's byte order:
 *
 *     +------------------------------------------------------+
 *     | magic: "dp_cache"                                    |
 *     | version: of this format  | crc: CRC-32 of the rest   |
 *     | key: of what the contents were made (struct below)   |
 *     | sizes: of the sections, in bytes, CACHED_N_SECTIONS    |
 *     +------------------------------------------------------+
 *     | the sections, without gaps                           |
 *     +------------------------------------------------------+
 *
 * A file with another key, or of another version, is ignored, and replaced by the next write. The
 * checksum finds accidental damage only: users check their sections as they would anyone's input.
 */

/* "dp_cache" in the machine's byte order, so that files of other machines are ignored. */
#define CACHED_FILE_MAGIC UINT64_C(0x65686361635f7064)
#define CACHED_FILE_VERSION 3
#define CACHED_N_SECTIONS 3

/* All that the contents depend on. It is compared as bytes: no padding, unused ones are 0. */
struct cached_key {
	char kind[8];                   /* the sections' user */
	uint64_t layout;                /* version of the sections' layout */
	char maker[DISK_CACHE_ID_SIZE]; /* build id of the program that writes */
	struct file_digest digest;      /* of what the contents were made of */
	struct stored_owner owner;      /* who may have forged them */
	uint64_t own[6];                /* the user's */
};

/* A binary, open at fd, and how to get the digest of what is of interest in it. NULL: file_digest_read(). */
struct cached_source {
	int fd;
	file_digest_fn read_digest;
	void *arg;
	bool is_costly; /* do not read the digest: only one that an earlier run has kept is used */
	bool must_last; /* do not read it where later runs cannot use it (stored_identity) */
};

struct cached_head {
	uint64_t magic;
	uint32_t version, crc;
	struct cached_key key;
	uint64_t sizes[CACHED_N_SECTIONS];
};

/* Each section is NULL or a block of malloc()'s, which its user may steal. */
struct cached_file {
	struct iovec sections[CACHED_N_SECTIONS];
};

/*
 * Set all of a key but `own`, and the identity by which to check it later (stored_file_is_same()). The digest is
 * taken from an earlier run if the file has not changed since; otherwise it is computed, and kept for later runs.
 * -ENOENT: is_costly, and none is kept; -ESTALE, -EPERM: nothing is to be kept of the binary
 * (stored_file_identify(), must_last); or errors of read_digest.
 */
int cached_key_init(struct cached_key *ret, struct disk_cache *cache, const char *kind,
		    uint64_t layout, const struct cached_source *source,
		    struct stored_file *ret_file);

/* The name of the file with such a key: `DIGEST-USER-DEVICE-INODE-vLAYOUT`, in hex, and what follows. */
void cached_key_name(const struct cached_key *key, const char *suffix,
		     char ret[DISK_CACHE_NAME_SIZE]);

/* Make the head of a file. */
void cached_head_init(struct cached_head *ret, const struct cached_key *key,
		      const struct iovec sections[CACHED_N_SECTIONS]);

/* Does a file of so many bytes that begins with this head have this key, and room for its sections? */
bool cached_head_is_of(const struct cached_head *head, const struct cached_key *key,
		       uint64_t file_size);

/* Does the checksum match the head and the sections? */
bool cached_head_matches(const struct cached_head *head,
			 const struct iovec sections[CACHED_N_SECTIONS]);

/*
 * Read a file of the cache by its name. Returns 0, and cached_file_done() releases *ret; -ENOENT:
 * there is none; -ESTALE: it has another key, or size; -EBADMSG: it is damaged; or another negative errno.
 */
int cached_file_read(const struct disk_cache *cache, const char *name, const struct cached_key *key,
		     struct cached_file *ret);
void cached_file_done(struct cached_file *file);

/* Store sections under a name, replacing a file that has it. Returns as disk_cache_put(). */
int cached_file_write(struct disk_cache *cache, const char *name, const struct cached_key *key,
		      const struct iovec sections[CACHED_N_SECTIONS]);

#endif
