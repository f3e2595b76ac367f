// SPDX-License-Identifier: Apache-2.0
#include "symbols/name_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file_stat.h"
#include "cache/disk_cache.h"
#include "elf/mapped_file.h"

static void name_file_done(struct name_files *files, struct name_file *file)
{
	free(file->path);
	if (file->fd >= 0)
		close(file->fd);
	if (file->is_copy)
		atomic_fetch_sub(files->copied, file->version.size);
}

void name_files_reset(struct name_files *files, enum name_files_mode mode)
{
	for (size_t i = 0; i < files->n; i++)
		name_file_done(files, &files->list[i]);
	free(files->list);
	*files = (struct name_files){ .mode = mode, .copied = files->copied, .stop = files->stop };
}

static bool is_same_identity(const struct file_identity *a, const struct file_identity *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool is_same_digest(const struct digest *a, const struct digest *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Debug information that was closed is opened again, perhaps with the same files. */
static struct name_file *find_known(const struct name_files *files, const struct name_file *file)
{
	const struct file_version *version = &file->version;
	bool is_steady = version->identity.inode != 0;

	for (size_t i = 0; i < files->n; i++) {
		struct name_file *other = &files->list[i];

		if (strcmp(other->path, file->path) == 0 &&
		    is_same_identity(&other->version.identity, &version->identity) &&
		    (is_steady || is_same_digest(&other->version.digest, &version->digest)))
			return other;
	}
	return NULL;
}

/* Takes over what the file owns, even on failure. Returns the one in the list, or NULL. */
static struct name_file *add(struct name_files *files, struct name_file *file)
{
	struct name_file *known = file->path ? find_known(files, file) : NULL;

	if (known && !known->is_copy && file->is_copy) {
		known->fd = steal_fd(&file->fd);
		known->is_copy = true;
		file->is_copy = false;
	}
	if (!known && file->path && array_reserve(files->list, files->n, files->size) == 0) {
		known = &files->list[files->n++];
		*known = *file;
		return known;
	}
	name_file_done(files, file);
	files->is_incomplete |= !known;
	return known;
}

/* Reserves the bytes of a copy: several threads may do so at a time. */
static bool reserve(struct name_files *files, uint64_t size)
{
	if (atomic_fetch_add(files->copied, size) + size <= NAME_COPIES_MAX)
		return true;
	atomic_fetch_sub(files->copied, size);
	return false;
}

/* Copies a file of so many bytes, and hashes the copy. */
static int make_copy(int fd, uint64_t size, const atomic_bool *stop, struct name_file *ret)
{
	_cleanup_close_ int copy = steady_file_copy(fd, size, stop);
	struct stat st;
	int err;

	if (copy < 0)
		return copy;
	if (fstat(copy, &st) < 0)
		return -errno;
	/* It may have become shorter meanwhile. */
	if ((uint64_t)st.st_size != size)
		return -ESTALE;
	err = digest_of_file(copy, size, stop, &ret->version.digest);
	if (err < 0)
		return err;
	ret->fd = steal_fd(&copy);
	ret->is_copy = true;
	ret->version.size = size;
	return 0;
}

static int copy_file(struct name_files *files, int fd, struct name_file *ret)
{
	struct stat st;
	uint64_t size;
	int err;

	if (fstat(fd, &st) < 0)
		return -errno;
	size = (uint64_t)st.st_size;
	if (size == 0 || size > NAME_COPY_MAX)
		return -EFBIG;
	if (!reserve(files, size))
		return -EDQUOT;
	err = make_copy(fd, size, files->stop, ret);
	if (err < 0)
		atomic_fetch_sub(files->copied, size);
	return err;
}

static int add_copy(struct name_files *files, int fd, const char *path)
{
	struct name_file file = { .fd = -1 }, *added;

	if (files->mode != NAME_FILES_COPIED || disk_cache_is_foreign(fd) ||
	    copy_file(files, fd, &file) < 0) {
		files->is_incomplete = true;
		return fd;
	}
	file.path = strdup(path);
	added = add(files, &file);
	return added ? added->fd : fd;
}

int name_files_add(struct name_files *files, int fd, const char *path)
{
	struct name_file file = { .fd = -1 };

	if (files->mode == NAME_FILES_IGNORED || files->is_incomplete)
		return fd;
	if (steady_file_identify(fd, &file.version.identity) < 0)
		return add_copy(files, fd, path);
	file.version.size = file.version.identity.size;
	file.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	file.path = file.fd < 0 ? NULL : strdup(path);
	add(files, &file);
	return fd;
}

int name_files_copy(const struct name_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		if (files->list[i].is_copy && files->list[i].path[0] == '\0')
			return files->list[i].fd;
	return -1;
}

void name_files_add_kept(struct name_files *files, const char *path,
			 const struct file_version *version)
{
	add(files, &(struct name_file){ .path = strdup(path), .fd = -1, .version = *version });
}

static int hash(struct name_file *file, const atomic_bool *stop)
{
	struct file_version *version = &file->version;
	struct file_identity now;
	int err = 0;

	if (file->fd < 0 || file->is_copy)
		return 0;
	if (version->size <= NAME_HASH_MAX)
		err = digest_of_file(file->fd, version->size, stop, &version->digest);
	if (err == 0)
		err = steady_file_identify(file->fd, &now);
	if (err == 0 && !is_same_identity(&now, &version->identity))
		err = -ESTALE;
	return err;
}

int name_files_hash(struct name_files *files)
{
	int err = files->mode == NAME_FILES_IGNORED || files->is_incomplete ? -ESTALE : 0;

	for (size_t i = 0; err == 0 && i < files->n; i++)
		err = hash(&files->list[i], files->stop);
	return err;
}

int name_file_open(const char *path)
{
	_cleanup_close_ int place = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	int err;

	if (place < 0)
		return -errno;
	err = file_stat(place, &st);
	if (err < 0)
		return err;
	if (!S_ISREG(st.st_mode) || disk_cache_is_foreign(place))
		return -EPERM;
	return file_reopen(place);
}

static bool has_digest(int fd, const struct file_version *version, const atomic_bool *stop)
{
	static const struct digest none = { { 0 } };
	struct digest digest;
	struct stat st;

	/* Sizes first: a file may be a hole of any size. */
	return !is_same_digest(&version->digest, &none) && version->size <= NAME_COPY_MAX &&
	       fstat(fd, &st) == 0 && (uint64_t)st.st_size == version->size &&
	       digest_of_file(fd, version->size, stop, &digest) == 0 &&
	       is_same_digest(&digest, &version->digest);
}

bool name_file_is_same(int fd, struct file_version *version, const atomic_bool *stop)
{
	struct file_identity now, after;
	bool is_steady;

	if (disk_cache_is_foreign(fd))
		return false;
	is_steady = steady_file_identify(fd, &now) == 0;
	if (is_steady && is_same_identity(&now, &version->identity))
		return true;
	if (!has_digest(fd, version, stop))
		return false;
	if (is_steady && steady_file_identify(fd, &after) == 0 && is_same_identity(&now, &after))
		version->identity = now;
	return true;
}
