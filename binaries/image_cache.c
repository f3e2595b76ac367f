// SPDX-License-Identifier: Apache-2.0
#include "binaries/image_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "log/log.h"
#include "tables/image_file.h"

/* Unwind information of less than this is made into an image as fast as that is read. */
#define MIN_SOURCE_SIZE 4096

static_assert(IMAGE_BUILD_ID_SIZE >= ELF_BUILD_ID_SIZE, "a build id has room");
static_assert(IMAGE_BUILD_ID_SIZE >= DISK_CACHE_ID_SIZE, "a maker has room");

struct disk_cache *image_cache_open_default(struct disk_cache *ret)
{
	_cleanup_free_ char *path =
		disk_cache_path(geteuid(), getenv("XDG_CACHE_HOME"), getenv("HOME"));
	int err = path ? disk_cache_open(path, DISK_CACHE_LIMIT, ret) : -ENOENT;

	if (err < 0) {
		log_debug("no cache in %s: %s", path ? path : "any place", strerror(-err));
		return NULL;
	}
	log_debug("tables and names are kept in %s", path);
	return ret;
}

void image_cache_keep_names(const struct disk_cache *cache, struct names *names)
{
	struct disk_cache own;

	if (!cache)
		return;
	own = *cache;
	own.fd = fcntl(cache->fd, F_DUPFD_CLOEXEC, 0);
	if (own.fd >= 0)
		names_set_cache(names, &own);
}

/* What the image is made of, and the name of its file. False: it is not to be kept. */
static bool describe(const struct disk_cache *cache, const struct elf_file *file, int fd,
		     struct image_origin *ret, char *ret_name)
{
	struct disk_cache_source source;

	if (fd < 0 || file->build_id[0] == '\0' ||
	    file->cfi.size + file->go.table.size < MIN_SOURCE_SIZE ||
	    file->source == ELF_SOURCE_DEBUG_FILE || disk_cache_source(fd, &source) < 0)
		return false;
	*ret = (struct image_origin){
		.inode = source.inode,
		.size = source.size,
		.mtime_ns = source.mtime_ns,
		.ctime_ns = source.ctime_ns,
		.cfi_address = file->cfi.address,
		.cfi_size = file->cfi.size,
		.cfi_source = file->source,
		.start = file->code.start,
		.end = file->code.end,
		.entry = file->code.entry,
	};
	snprintf(ret->maker, sizeof(ret->maker), "%s", cache->maker);
	snprintf(ret->build_id, sizeof(ret->build_id), "%s", file->build_id);
	snprintf(ret_name, DISK_CACHE_NAME_SIZE, "%s-%" PRIx64 "-v%d" DISK_CACHE_IMAGE,
		 ret->build_id, ret->inode, DP_IMAGE_VERSION);
	return true;
}

static int get(const struct disk_cache *cache, const char *name, const struct image_origin *origin,
	       struct image *ret)
{
	uint64_t size;
	_cleanup_close_ int fd = disk_cache_open_file(cache, name, &size);
	_cleanup_free_ uint64_t *cells = NULL;
	struct image_file head;
	int err;

	if (fd < 0)
		return fd;
	err = disk_cache_read(fd, &head, sizeof(head), 0);
	if (err < 0)
		return err;
	if (!image_file_is_of(&head, origin, size))
		return -ESTALE;
	cells = malloc((size_t)head.n_cells * DP_CELL_SIZE);
	if (!cells)
		return -ENOMEM;
	err = disk_cache_read(fd, cells, (size_t)head.n_cells * DP_CELL_SIZE, sizeof(head));
	if (err == 0)
		err = image_file_take(&head, cells, ret);
	if (err < 0)
		return err;
	cells = NULL;
	disk_cache_used(fd);
	return 0;
}

static int put(struct disk_cache *cache, const char *name, const struct image_origin *origin,
	       const struct image *image)
{
	struct image_file head;
	const struct iovec parts[] = {
		{ &head, sizeof(head) },
		{ image->cells, (size_t)image->n_cells * DP_CELL_SIZE },
	};

	image_file_init(&head, origin, image);
	return disk_cache_put(cache, name, parts, 2);
}

int image_cache_get(struct disk_cache *cache, const struct elf_file *file, int fd,
		    struct image *ret)
{
	struct image_origin origin;
	char name[DISK_CACHE_NAME_SIZE];
	int err;

	if (!cache || !describe(cache, file, fd, &origin, name))
		return image_build(&file->cfi, &file->code, ret);
	err = get(cache, name, &origin, ret);
	if (err == 0)
		return 1;
	if (err != -ENOENT)
		log_debug("cache: %s is of no use: %s", name, strerror(-err));
	err = image_build(&file->cfi, &file->code, ret);
	if (err < 0)
		return err;
	err = put(cache, name, &origin, ret);
	if (err < 0)
		log_debug("cache: cannot keep %s: %s", name, strerror(-err));
	return 0;
}
