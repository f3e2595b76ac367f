// SPDX-License-Identifier: Apache-2.0
#include "binaries/image_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "log/log.h"
#include "tables/image_check.h"

/* From less unwind information than this, building an image is as fast as reading one. */
#define MIN_SOURCE_SIZE 4096

/* The specific part of the key: properties of the unwind information, and struct image_input. */
struct origin {
	uint64_t cfi_address, cfi_size;
	uint64_t cfi_source; /* enum elf_source */
	uint64_t start, end, entry;
};

/* The file's sections: a uint64_t, and the image's cells. */
enum { N_ROWS, CELLS };

static_assert(sizeof(struct origin) == sizeof(((struct cached_key *)NULL)->own), "fits");

struct disk_cache *image_cache_open_default(struct disk_cache *ret)
{
	_cleanup_free_ char *path =
		disk_cache_path(geteuid(), getenv("XDG_CACHE_HOME"), getenv("HOME"));
	int err = path ? disk_cache_open(path, DISK_CACHE_LIMIT, ret) : -ENOENT;

	if (err < 0) {
		log_debug("no cache in %s: %s", path ? path : "any directory", strerror(-err));
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

/* Returns what the image depends on, and the name of its file. False: do not keep it. */
static bool describe(struct disk_cache *cache, const struct elf_origin *from,
		     const struct cached_source *source, struct stored_file *ret_file,
		     struct cached_key *ret, char *ret_name)
{
	const struct origin origin = {
		.cfi_address = from->unwind.address,
		.cfi_size = from->unwind.size,
		.cfi_source = from->unwind.source,
		.start = from->start,
		.end = from->end,
		.entry = from->entry,
	};

	if (source->fd < 0 || from->unwind.size + from->go_size < MIN_SOURCE_SIZE ||
	    from->unwind.source == ELF_SOURCE_DEBUG_FILE ||
	    cached_key_init(ret, cache, "image", DP_IMAGE_VERSION, source, ret_file) < 0)
		return false;
	memcpy(ret->own, &origin, sizeof(origin));
	cached_key_name(ret, DISK_CACHE_IMAGE, ret_name);
	return true;
}

static int get(const struct disk_cache *cache, const char *name, const struct cached_key *key,
	       struct image *ret)
{
	_cleanup_(cached_file_done) struct cached_file file = { 0 };
	struct iovec *n_rows = &file.sections[N_ROWS], *cells = &file.sections[CELLS];
	struct image image = { 0 };
	int err = cached_file_read(cache, name, key, &file);

	if (err < 0)
		return err;
	if (n_rows->iov_len != sizeof(uint64_t) || cells->iov_len % DP_CELL_SIZE != 0 ||
	    cells->iov_len / DP_CELL_SIZE > UINT32_MAX)
		return -EBADMSG;
	image.n_cells = (uint32_t)(cells->iov_len / DP_CELL_SIZE);
	/* The checksum proves nothing: the author of a forged image can compute it, too. */
	if (!image_is_sound(cells->iov_base, image.n_cells))
		return -EBADMSG;
	image.stats.n_rows = *(const uint64_t *)n_rows->iov_base;
	image.cells = steal_ptr(cells->iov_base);
	*ret = image;
	return 0;
}

static int put(struct disk_cache *cache, const char *name, const struct cached_key *key,
	       const struct image *image)
{
	uint64_t n_rows = image->stats.n_rows;

	return cached_file_write(
		cache, name, key,
		(struct iovec[CACHED_N_SECTIONS]){
			[N_ROWS] = { &n_rows, sizeof(n_rows) },
			[CELLS] = { image->cells, (size_t)image->n_cells * DP_CELL_SIZE },
		});
}

int image_cache_get(struct disk_cache *cache, const struct elf_origin *origin,
		    const struct cached_source *source, image_make_fn make, void *arg,
		    struct image *ret)
{
	struct cached_key key;
	struct stored_file file;
	char name[DISK_CACHE_NAME_SIZE];
	int err;

	if (!cache || !describe(cache, origin, source, &file, &key, name))
		return make(arg, ret);
	err = get(cache, name, &key, ret);
	if (err == 0)
		return 1;
	if (err != -ENOENT)
		log_debug("cache: cannot use %s: %s", name, strerror(-err));
	err = make(arg, ret);
	if (err < 0)
		return err;
	/* It may have been made of other bytes. */
	err = stored_file_is_same(source->fd, &file) ? put(cache, name, &key, ret) : -ESTALE;
	if (err < 0)
		log_debug("cache: cannot keep %s: %s", name, strerror(-err));
	return 0;
}
