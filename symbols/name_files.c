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
#include "cache/disk_cache.h"

static void name_file_done(struct name_files *files, struct name_file *file)
{
	free(file->path);
	if (file->fd >= 0)
		close(file->fd);
	if (file->copied > 0)
		atomic_fetch_sub(files->copied, file->copied);
}

void name_files_reset(struct name_files *files, enum name_files_mode mode)
{
	for (size_t i = 0; i < files->n; i++)
		name_file_done(files, &files->list[i]);
	free(files->list);
	*files = (struct name_files){ .mode = mode, .copied = files->copied };
}

static bool is_same_identity(const struct file_identity *a, const struct file_identity *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Debug information that was closed is opened again, perhaps with the same files. */
static struct name_file *find_known(const struct name_files *files, const struct name_file *file)
{
	bool is_steady = file->identity.inode != 0;

	for (size_t i = 0; i < files->n; i++) {
		struct name_file *other = &files->list[i];

		if (strcmp(other->path, file->path) == 0 &&
		    is_same_identity(&other->identity, &file->identity) &&
		    (is_steady ||
		     memcmp(&other->digest, &file->digest, sizeof(file->digest)) == 0))
			return other;
	}
	return NULL;
}

/* Takes over what the file owns, even on failure. Returns the one in the list, or NULL. */
static struct name_file *add(struct name_files *files, struct name_file *file)
{
	struct name_file *known = file->path ? find_known(files, file) : NULL;

	if (known && known->copied == 0 && file->copied > 0) {
		known->fd = steal_fd(&file->fd);
		known->copied = file->copied;
		file->copied = 0;
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
static int make_copy(int fd, uint64_t size, struct name_file *ret)
{
	_cleanup_close_ int copy = steady_file_copy(fd, size);
	struct stat st;
	int err;

	if (copy < 0)
		return copy;
	if (fstat(copy, &st) < 0)
		return -errno;
	/* It may have become shorter meanwhile. */
	if ((uint64_t)st.st_size != size)
		return -ESTALE;
	err = digest_of_file(copy, size, &ret->digest);
	if (err < 0)
		return err;
	ret->fd = steal_fd(&copy);
	ret->copied = size;
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
	err = make_copy(fd, size, ret);
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
	if (steady_file_identify(fd, &file.identity) < 0)
		return add_copy(files, fd, path);
	file.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	file.path = file.fd < 0 ? NULL : strdup(path);
	add(files, &file);
	return fd;
}

int name_files_copy(const struct name_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		if (files->list[i].copied > 0 && files->list[i].path[0] == '\0')
			return files->list[i].fd;
	return -1;
}

void name_files_add_kept(struct name_files *files, const char *path, const struct digest *digest,
			 const struct file_identity *identity)
{
	add(files,
	    &(struct name_file){
		    .path = strdup(path), .fd = -1, .digest = *digest, .identity = *identity });
}

static int hash(struct name_file *file)
{
	struct file_identity now;
	int err;

	if (file->fd < 0 || file->copied > 0)
		return 0;
	err = digest_of_file(file->fd, file->identity.size, &file->digest);
	if (err == 0)
		err = steady_file_identify(file->fd, &now);
	if (err == 0 && !is_same_identity(&now, &file->identity))
		err = -ESTALE;
	return err;
}

int name_files_hash(struct name_files *files)
{
	int err = files->mode == NAME_FILES_IGNORED || files->is_incomplete ? -ESTALE : 0;

	for (size_t i = 0; err == 0 && i < files->n; i++)
		err = hash(&files->list[i]);
	return err;
}

bool name_file_is_same(int fd, const struct digest *digest, struct file_identity *identity)
{
	struct file_identity now, after;
	struct digest found;
	struct stat st;
	bool is_steady;

	if (disk_cache_is_foreign(fd))
		return false;
	is_steady = steady_file_identify(fd, &now) == 0;
	if (is_steady && is_same_identity(&now, identity))
		return true;
	if (fstat(fd, &st) < 0 || digest_of_file(fd, (uint64_t)st.st_size, &found) < 0 ||
	    memcmp(&found, digest, sizeof(found)) != 0)
		return false;
	if (is_steady && steady_file_identify(fd, &after) == 0 && is_same_identity(&now, &after))
		*identity = now;
	return true;
}
