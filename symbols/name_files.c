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
	if (file->copy < 0)
		return;
	close(file->copy);
	name_copies_give_back(files->copies, file->user, file->version.size);
}

void name_files_reset(struct name_files *files, enum name_files_mode mode)
{
	for (size_t i = 0; i < files->n; i++)
		name_file_done(files, &files->list[i]);
	free(files->list);
	*files = (struct name_files){
		.mode = mode, .copies = files->copies, .stop = files->stop, .cache = files->cache
	};
}

static int identify(const struct name_files *files, int fd, struct file_identity *ret)
{
	return steady_file_identify(fd, files->cache ? files->cache->mounts : NULL, ret);
}

static bool is_same_identity(const struct file_identity *a, const struct file_identity *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool is_same_digest(const struct digest *a, const struct digest *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool has_digest(const struct file_version *version)
{
	static const struct digest none = { { 0 } };

	return !is_same_digest(&version->digest, &none);
}

/* For one file, from now on. */
static struct read_limit limit_of(const struct name_files *files)
{
	return (struct read_limit){ .stop = files->stop,
				    .until_ns = read_limit_now_ns() + NAME_FILE_TIME_MAX };
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

	if (known && known->copy < 0 && file->copy >= 0) {
		known->copy = steal_fd(&file->copy);
		known->user = file->user;
		known->origin = file->origin;
	}
	if (known)
		known->is_read |= file->is_read;
	if (!known && file->path && array_reserve(files->list, files->n, files->size) == 0) {
		known = &files->list[files->n++];
		*known = *file;
		return known;
	}
	name_file_done(files, file);
	files->is_incomplete |= !known;
	return known;
}

static uint64_t nanoseconds(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

/* Copies a file whose bytes were reserved, and hashes the copy. */
static int make_copy(int fd, const struct read_limit *limit, struct name_file *ret)
{
	const uint64_t size = ret->version.size;
	_cleanup_close_ int copy = steady_file_copy(fd, size, limit);
	struct stat st;
	int err;

	if (copy < 0)
		return copy;
	if (fstat(copy, &st) < 0)
		return -errno;
	/* It may have become shorter meanwhile. */
	if ((uint64_t)st.st_size != size)
		return -ESTALE;
	err = digest_of_file(copy, size, limit, &ret->version.digest);
	if (err == 0)
		ret->copy = steal_fd(&copy);
	return err;
}

/* Whether a file says that it is the one that was copied. */
static bool is_of(const struct name_file *file, const char *path,
		  const struct file_identity *origin)
{
	return file->copy >= 0 && strcmp(file->path, path) == 0 &&
	       is_same_identity(&file->origin, origin);
}

/* Returns the descriptor of a copy, a new one or the one from before; or a negative errno. */
static int copy_file(struct name_files *files, int fd, const char *path)
{
	const struct read_limit limit = limit_of(files);
	struct name_file file = { .copy = -1 }, *added;
	struct stat st;
	int err;

	if (fstat(fd, &st) < 0)
		return -errno;
	file.user = st.st_uid;
	file.version.size = (uint64_t)st.st_size;
	file.origin = (struct file_identity){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.mtime_ns = nanoseconds(&st.st_mtim),
		.ctime_ns = nanoseconds(&st.st_ctim),
	};
	for (size_t i = 0; i < files->n; i++)
		if (is_of(&files->list[i], path, &file.origin))
			return files->list[i].copy;
	if (st.st_size == 0 || file.version.size > NAME_COPY_MAX)
		return -EFBIG;
	err = name_copies_take(files->copies, file.user, file.version.size);
	if (err < 0)
		return err;
	err = make_copy(fd, &limit, &file);
	if (err < 0) {
		name_copies_give_back(files->copies, file.user, file.version.size);
		return err;
	}
	file.path = strdup(path);
	added = add(files, &file);
	return added ? added->copy : -ENOMEM;
}

int name_files_add(struct name_files *files, int fd, const char *path)
{
	struct name_file file = { .copy = -1, .is_read = true };
	int copy = -EPERM;

	if (files->mode == NAME_FILES_IGNORED || files->is_incomplete)
		return fd;
	if (identify(files, fd, &file.version.identity) == 0) {
		file.version.size = file.version.identity.size;
		file.path = strdup(path);
		add(files, &file);
		return fd;
	}
	if (files->mode == NAME_FILES_COPIED && !disk_cache_is_foreign(fd))
		copy = copy_file(files, fd, path);
	files->is_incomplete |= copy < 0;
	return copy >= 0 ? copy : fd;
}

int name_files_copy(const struct name_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		if (files->list[i].copy >= 0 && files->list[i].path[0] == '\0')
			return files->list[i].copy;
	return -1;
}

void name_files_add_kept(struct name_files *files, const char *path,
			 const struct file_version *version)
{
	add(files, &(struct name_file){ .path = strdup(path), .copy = -1, .version = *version });
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

/* Checks that a file which was read in place is the same still, and hashes it. */
static int hash(const struct name_files *files, struct name_file *file, int binary)
{
	const struct read_limit limit = limit_of(files);
	struct file_version *version = &file->version;
	_cleanup_close_ int own = -1;
	struct file_identity now;
	int fd = binary, err = 0;

	if (!file->is_read)
		return 0;
	if (file->path[0] != '\0')
		fd = own = name_file_open(file->path);
	if (fd < 0)
		return -ESTALE;
	if (!has_digest(version) && version->size <= NAME_HASH_MAX)
		err = digest_of_file(fd, version->size, &limit, &version->digest);
	if (err == 0)
		err = identify(files, fd, &now);
	if (err == 0 && !is_same_identity(&now, &version->identity))
		err = -ESTALE;
	return err;
}

int name_files_hash(struct name_files *files, int binary)
{
	int err = files->mode == NAME_FILES_IGNORED || files->is_incomplete ? -ESTALE : 0;

	for (size_t i = 0; err == 0 && i < files->n; i++)
		err = hash(files, &files->list[i], binary);
	return err;
}

/* Whether a file has the digest; sizes first, as a file may be a hole of any size. */
static bool has_same_digest(const struct name_files *files, int fd,
			    const struct file_version *version)
{
	const struct read_limit limit = limit_of(files);
	struct digest digest;
	struct stat st;

	return has_digest(version) && version->size <= NAME_COPY_MAX && fstat(fd, &st) == 0 &&
	       (uint64_t)st.st_size == version->size &&
	       digest_of_file(fd, version->size, &limit, &digest) == 0 &&
	       is_same_digest(&digest, &version->digest);
}

bool name_file_is_same(const struct name_files *files, int fd, struct file_version *version)
{
	struct file_identity now, after;
	bool is_steady;

	if (disk_cache_is_foreign(fd))
		return false;
	is_steady = identify(files, fd, &now) == 0;
	if (is_steady && is_same_identity(&now, &version->identity))
		return true;
	if (!has_same_digest(files, fd, version))
		return false;
	if (is_steady && identify(files, fd, &after) == 0 && is_same_identity(&now, &after))
		version->identity = now;
	return true;
}
