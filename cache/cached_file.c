// SPDX-License-Identifier: Apache-2.0
#include "cache/cached_file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"

static_assert(sizeof(struct cached_key) == DISK_CACHE_ID_SIZE + FILE_DIGEST_SIZE + 11 * 8,
	      "no padding");
static_assert(sizeof(struct cached_head) == 16 + sizeof(struct cached_key) + 8 * CACHED_N_SECTIONS,
	      "no padding");
static_assert(sizeof(struct stored_file) <= sizeof(((struct cached_key *)NULL)->own), "fits");

/* Of the file that keeps the digest of a binary for one kind of contents. */
static void init_digest_key(const struct cached_key *of, const struct stored_file *file,
			    struct cached_key *ret, char *ret_name)
{
	*ret = *of;
	memset(&ret->digest, 0, sizeof(ret->digest));
	memset(&ret->owner, 0, sizeof(ret->owner));
	memcpy(ret->own, file, sizeof(*file));
	snprintf(ret_name, DISK_CACHE_NAME_SIZE, "%" PRIx64 "-%" PRIx64 "-%s" DISK_CACHE_DIGEST,
		 file->device, file->inode, of->kind);
}

static bool read_digest(const struct disk_cache *cache, const struct stored_file *of,
			struct cached_key *key)
{
	_cleanup_(cached_file_done) struct cached_file file = { 0 };
	char name[DISK_CACHE_NAME_SIZE];
	struct cached_key wanted;

	init_digest_key(key, of, &wanted, name);
	if (cached_file_read(cache, name, &wanted, &file) < 0 ||
	    file.sections[0].iov_len != sizeof(key->digest))
		return false;
	memcpy(&key->digest, file.sections[0].iov_base, sizeof(key->digest));
	return true;
}

/* It is only an optimisation. */
static void write_digest(struct disk_cache *cache, const struct stored_file *of,
			 const struct cached_key *key)
{
	struct file_digest digest = key->digest;
	const struct iovec sections[CACHED_N_SECTIONS] = { { &digest, sizeof(digest) } };
	char name[DISK_CACHE_NAME_SIZE];
	struct cached_key wanted;

	init_digest_key(key, of, &wanted, name);
	(void)cached_file_write(cache, name, &wanted, sections);
}

/* Sets the last part of the key, whose others are set. */
static int find_digest(struct disk_cache *cache, const struct cached_source *source,
		       const struct stored_identity *of, struct cached_key *key)
{
	int err;

	if (of->is_lasting && read_digest(cache, &of->file, key))
		return 0;
	if (source->is_costly)
		return -ENOENT;
	if (!of->is_lasting && source->must_last)
		return -EPERM;
	err = source->read_digest ? source->read_digest(source->arg, source->fd, &key->digest) :
				    file_digest_read(source->fd, &key->digest);
	if (err < 0)
		return err;
	if (!stored_file_is_same(source->fd, &of->file))
		return -ESTALE;
	if (of->is_lasting)
		write_digest(cache, &of->file, key);
	return 0;
}

int cached_key_init(struct cached_key *ret, struct disk_cache *cache, const char *kind,
		    uint64_t layout, const struct cached_source *source,
		    struct stored_file *ret_file)
{
	struct stored_identity identity;
	int err = stored_file_identify(source->fd, &identity);

	*ret = (struct cached_key){ .layout = layout };
	if (err < 0)
		return err;
	strncpy(ret->kind, kind, sizeof(ret->kind) - 1);
	snprintf(ret->maker, sizeof(ret->maker), "%s", cache->maker);
	ret->owner = identity.owner;
	*ret_file = identity.file;
	return find_digest(cache, source, &identity, ret);
}

/* Of the digest: enough that no two files meet by chance. The key has all of it. */
#define NAME_BYTES 16

void cached_key_name(const struct cached_key *key, const char *suffix,
		     char ret[DISK_CACHE_NAME_SIZE])
{
	int n = 0;

	for (size_t i = 0; i < NAME_BYTES; i++)
		n += sprintf(ret + n, "%02x", key->digest.bytes[i]);
	snprintf(ret + n, DISK_CACHE_NAME_SIZE - (size_t)n,
		 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-v%" PRIu64 "%s", key->owner.user,
		 key->owner.device, key->owner.inode, key->layout, suffix);
}

static uint32_t checksum(const struct cached_head *head,
			 const struct iovec sections[CACHED_N_SECTIONS])
{
	const size_t from = offsetof(struct cached_head, crc) + sizeof(head->crc);
	uLong crc = crc32_z(0, (const Bytef *)head + from, sizeof(*head) - from);

	for (size_t i = 0; i < CACHED_N_SECTIONS; i++)
		if (sections[i].iov_len > 0) /* with NULL, crc32_z() starts anew */
			crc = crc32_z(crc, sections[i].iov_base, sections[i].iov_len);
	return (uint32_t)crc;
}

void cached_head_init(struct cached_head *ret, const struct cached_key *key,
		      const struct iovec sections[CACHED_N_SECTIONS])
{
	*ret = (struct cached_head){
		.magic = CACHED_FILE_MAGIC,
		.version = CACHED_FILE_VERSION,
		.key = *key,
	};
	for (size_t i = 0; i < CACHED_N_SECTIONS; i++)
		ret->sizes[i] = sections[i].iov_len;
	ret->crc = checksum(ret, sections);
}

bool cached_head_is_of(const struct cached_head *head, const struct cached_key *key,
		       uint64_t file_size)
{
	uint64_t size = sizeof(*head);

	if (head->magic != CACHED_FILE_MAGIC || head->version != CACHED_FILE_VERSION ||
	    memcmp(&head->key, key, sizeof(*key)) != 0)
		return false;
	for (size_t i = 0; i < CACHED_N_SECTIONS; i++)
		if (__builtin_add_overflow(size, head->sizes[i], &size))
			return false;
	return size == file_size;
}

bool cached_head_matches(const struct cached_head *head,
			 const struct iovec sections[CACHED_N_SECTIONS])
{
	return head->crc == checksum(head, sections);
}

static int read_sections(int fd, const struct cached_head *head, struct cached_file *file)
{
	uint64_t at = sizeof(*head);

	for (size_t i = 0; i < CACHED_N_SECTIONS; i++) {
		struct iovec *s = &file->sections[i];
		int err;

		if (head->sizes[i] == 0)
			continue;
		s->iov_len = head->sizes[i];
		s->iov_base = malloc(s->iov_len);
		if (!s->iov_base)
			return -ENOMEM;
		err = disk_cache_read(fd, s->iov_base, s->iov_len, at);
		if (err < 0)
			return err;
		at += s->iov_len;
	}
	return cached_head_matches(head, file->sections) ? 0 : -EBADMSG;
}

int cached_file_read(const struct disk_cache *cache, const char *name, const struct cached_key *key,
		     struct cached_file *ret)
{
	uint64_t size;
	_cleanup_close_ int fd = disk_cache_open_file(cache, name, &size);
	struct cached_file file = { 0 };
	struct cached_head head;
	int err;

	if (fd < 0)
		return fd;
	err = disk_cache_read(fd, &head, sizeof(head), 0);
	if (err < 0)
		return err;
	if (!cached_head_is_of(&head, key, size))
		return -ESTALE;
	err = read_sections(fd, &head, &file);
	if (err < 0) {
		cached_file_done(&file);
		return err;
	}
	disk_cache_used(fd);
	*ret = file;
	return 0;
}

void cached_file_done(struct cached_file *file)
{
	for (size_t i = 0; i < CACHED_N_SECTIONS; i++)
		free(file->sections[i].iov_base);
	*file = (struct cached_file){ 0 };
}

int cached_file_write(struct disk_cache *cache, const char *name, const struct cached_key *key,
		      const struct iovec sections[CACHED_N_SECTIONS])
{
	struct cached_head head;
	struct iovec parts[1 + CACHED_N_SECTIONS] = { { &head, sizeof(head) } };

	cached_head_init(&head, key, sections);
	memcpy(parts + 1, sections, CACHED_N_SECTIONS * sizeof(*sections));
	return disk_cache_put(cache, name, parts, 1 + CACHED_N_SECTIONS);
}
