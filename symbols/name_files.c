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

/* In bytes: copies of one file, and of all files of all binaries together. */
#define COPY_MAX (UINT64_C(128) << 20)
#define COPIES_MAX (UINT64_C(256) << 20)

static void name_file_done(struct name_file *file)
{
	free(file->path);
	if (file->fd >= 0)
		close(file->fd);
}

void name_files_reset(struct name_files *files, enum name_files_mode mode)
{
	_Atomic uint64_t *copied = files->copied;

	for (size_t i = 0; i < files->n; i++)
		name_file_done(&files->list[i]);
	free(files->list);
	if (copied)
		atomic_fetch_sub(copied, files->n_copied);
	*files = (struct name_files){ .mode = mode, .copied = copied };
}

static bool is_same_identity(const struct file_identity *a, const struct file_identity *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Debug information that was closed is opened again, perhaps with the same files. */
static bool is_known(const struct name_files *files, const struct name_file *file)
{
	for (size_t i = 0; i < files->n; i++) {
		const struct name_file *other = &files->list[i];

		if (strcmp(other->path, file->path) == 0 &&
		    is_same_identity(&other->identity, &file->identity) &&
		    (file->fd >= 0 ||
		     memcmp(&other->digest, &file->digest, sizeof(file->digest)) == 0))
			return true;
	}
	return false;
}

/* Takes over what the file owns, even on failure. */
static void add(struct name_files *files, struct name_file *file)
{
	bool is_kept = file->path && !is_known(files, file);

	if (!file->path || (is_kept && array_reserve(files->list, files->n, files->size) < 0))
		files->is_incomplete = true;
	if (is_kept && !files->is_incomplete)
		files->list[files->n++] = *file;
	else
		name_file_done(file);
}

/* Copies a file, and hashes the copy. Returns its descriptor, or a negative errno. */
static int copy_file(struct name_files *files, int fd, struct digest *ret)
{
	_cleanup_close_ int copy = -1;
	struct stat st;
	int err;

	/* The sum is approximate while several threads add to it. */
	if (atomic_load(files->copied) >= COPIES_MAX)
		return -EDQUOT;
	copy = steady_file_copy(fd, COPY_MAX);
	if (copy < 0)
		return copy;
	if (fstat(copy, &st) < 0)
		return -errno;
	err = digest_of_file(copy, (uint64_t)st.st_size, ret);
	if (err < 0)
		return err;
	files->n_copied += (uint64_t)st.st_size;
	atomic_fetch_add(files->copied, (uint64_t)st.st_size);
	return steal_fd(&copy);
}

int name_files_add(struct name_files *files, int fd, const char *path)
{
	struct name_file file = { .fd = -1 };
	int copy = -1;

	if (files->mode == NAME_FILES_IGNORED || files->is_incomplete)
		return fd;
	if (steady_file_identify(fd, &file.identity) == 0) {
		file.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		files->is_incomplete = file.fd < 0;
	} else {
		if (files->mode == NAME_FILES_COPIED && !disk_cache_is_foreign(fd))
			copy = copy_file(files, fd, &file.digest);
		files->is_incomplete = copy < 0;
	}
	if (files->is_incomplete)
		return fd;
	file.path = strdup(path);
	add(files, &file);
	return copy >= 0 ? copy : fd;
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

	if (file->fd < 0)
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
