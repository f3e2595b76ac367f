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
#include "cache/kept_file.h"
#include "cache/steady_file.h"
#include "log/log.h"
#include "tables/image_check.h"

/* From less unwind information than this, building an image is as fast as reading one. */
#define MIN_SOURCE_SIZE 4096

/* The file's sections: struct figures, struct code_read of each read, and the image's cells. */
enum { FIGURES, READS, CELLS };

struct figures {
	uint64_t n_rows;
	struct digest code; /* image_inputs_describe_code() */
};

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

	if (cache && disk_cache_dup(cache, &own) == 0)
		names_set_cache(names, &own);
}

/* An entry of the cache: what has to be in it, and the name of its file. */
struct entry {
	struct disk_cache *cache;
	const struct image_inputs *inputs;
	const struct file_identity *identity; /* of a steady file, to tell its bytes; or NULL */
	struct kept_key key;
	char name[DISK_CACHE_NAME_SIZE];
};

/* A steady file's image may be used as long as it has this identity: its bytes are not hashed. */
static struct digest describe_steady(const struct file_identity *identity)
{
	static const char kind[8] = "steady";
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	digest_add(&ctx, kind, sizeof(kind));
	digest_add(&ctx, identity, sizeof(*identity));
	return digest_finish(&ctx);
}

static void entry_init(struct entry *ret, struct disk_cache *cache, const char *build_id,
		       const struct image_inputs *inputs, const struct digest *source,
		       const struct file_identity *identity)
{
	uint64_t number;

	*ret = (struct entry){ .cache = cache, .inputs = inputs, .identity = identity };
	kept_key_init(&ret->key, cache, identity ? "steady" : "image", DP_IMAGE_VERSION, source);
	memcpy(&number, source->bytes, sizeof(number));
	snprintf(ret->name, sizeof(ret->name), "%s-%016" PRIx64 "-v%d" DISK_CACHE_IMAGE, build_id,
		 number, DP_IMAGE_VERSION);
}

/* What a file of the cache says of the code that its image was made of. */
struct code_source {
	struct code_reads reads;
	struct digest digest;
};

static bool has_same_code(const struct entry *e, const struct code_source *code)
{
	struct digest digest;

	return e->identity ||
	       (image_inputs_describe_code(e->inputs, code->reads.list, code->reads.n, &digest) &&
		memcmp(&digest, &code->digest, sizeof(digest)) == 0);
}

/* On success, the caller frees ret_code->reads. */
static int get(const struct entry *e, struct image *ret, struct code_source *ret_code)
{
	_cleanup_(kept_file_done) struct kept_file file = { 0 };
	struct iovec *figures = &file.sections[FIGURES], *reads = &file.sections[READS];
	struct iovec *cells = &file.sections[CELLS];
	struct image image = { 0 };
	struct code_source code;
	const struct figures *kept;
	int err = kept_file_read(e->cache, e->name, &e->key, &file);

	if (err < 0)
		return err;
	if (figures->iov_len != sizeof(*kept) || reads->iov_len % sizeof(struct code_read) != 0 ||
	    cells->iov_len % DP_CELL_SIZE != 0 || cells->iov_len / DP_CELL_SIZE > UINT32_MAX)
		return -EBADMSG;
	kept = figures->iov_base;
	code = (struct code_source){
		.reads = { .list = reads->iov_base,
			   .n = reads->iov_len / sizeof(struct code_read) },
		.digest = kept->code,
	};
	if (!has_same_code(e, &code))
		return -ESTALE;
	image.n_cells = (uint32_t)(cells->iov_len / DP_CELL_SIZE);
	/* The checksum proves nothing: the author of a forged image can compute it, too. */
	if (!image_is_sound(cells->iov_base, image.n_cells))
		return -EBADMSG;
	image.stats.n_rows = kept->n_rows;
	image.cells = steal_ptr(cells->iov_base);
	reads->iov_base = NULL;
	*ret = image;
	*ret_code = code;
	return 0;
}

static void put(const struct entry *e, const struct code_source *code, const struct image *image)
{
	struct figures figures = { .n_rows = image->stats.n_rows, .code = code->digest };
	const struct code_reads *reads = &code->reads;
	int err = kept_file_write(
		e->cache, e->name, &e->key,
		(struct iovec[KEPT_N_SECTIONS]){
			[FIGURES] = { &figures, sizeof(figures) },
			[READS] = { reads->list, reads->n * sizeof(*reads->list) },
			[CELLS] = { image->cells, (size_t)image->n_cells * DP_CELL_SIZE },
		});

	if (err < 0)
		log_debug("cache: cannot keep %s: %s", e->name, strerror(-err));
}

/* Like get(). True: *ret is from the cache. */
static bool is_kept(const struct entry *e, struct image *ret, struct code_source *ret_code)
{
	int err = get(e, ret, ret_code);

	if (err < 0 && err != -ENOENT)
		log_debug("cache: cannot use %s: %s", e->name, strerror(-err));
	return err == 0;
}

static bool is_worth_keeping(const struct elf_file *file)
{
	return file->build_id[0] != '\0' && file->source != ELF_SOURCE_DEBUG_FILE &&
	       file->cfi.size + file->go.table.size >= MIN_SOURCE_SIZE;
}

static bool has_changed(int fd, struct mount_list *mounts, const struct file_identity *before)
{
	struct file_identity now;

	return steady_file_identify(fd, mounts, &now) < 0 || memcmp(&now, before, sizeof(now)) != 0;
}

/* Of a steady file; without `cache`, it is built. */
static int get_steady(struct disk_cache *cache, const struct elf_file *file, int fd,
		      struct mount_list *mounts, const struct file_identity *identity,
		      struct image *ret, struct image_source **ret_source)
{
	const struct image_inputs inputs = image_inputs_of(file);
	const struct digest source = describe_steady(identity);
	struct code_source code = { 0 };
	struct entry e;
	int err;

	if (cache)
		entry_init(&e, cache, file->build_id, &inputs, &source, identity);
	if (cache && is_kept(&e, ret, &code)) {
		code_reads_done(&code.reads);
		*ret_source = image_source_new_steady(identity);
		return 1;
	}
	err = image_build(&inputs.cfi, &inputs.code, ret);
	if (err < 0)
		return err;
	/* While it was read: nobody knows what the image is of. */
	if (has_changed(fd, mounts, identity))
		return 0;
	*ret_source = image_source_new_steady(identity);
	if (cache)
		put(&e, &code, ret);
	return 0;
}

/* From the cache, for the bytes that a file has now: the image is not made of them. */
static bool get_kept(struct disk_cache *cache, const struct elf_file *file, struct image *ret,
		     struct image_source **ret_source)
{
	const struct image_inputs inputs = image_inputs_of(file);
	const struct digest facts = image_inputs_describe(&inputs);
	struct code_source code = { 0 };
	struct entry e;

	entry_init(&e, cache, file->build_id, &inputs, &facts, NULL);
	if (!is_kept(&e, ret, &code))
		return false;
	*ret_source = image_source_new(&inputs, &facts, &code.digest, &code.reads);
	return true;
}

/* Builds it of copied inputs, and keeps it unless `cache` is NULL. */
static int build_copied(struct disk_cache *cache, const char *build_id,
			const struct image_inputs *inputs, struct image *ret,
			struct image_source **ret_source)
{
	const struct digest facts = image_inputs_describe(inputs);
	struct code_source code = { 0 };
	struct entry e;
	int err = image_inputs_build(inputs, &code.reads, ret);

	if (err < 0 || code.reads.is_incomplete ||
	    !image_inputs_describe_code(inputs, code.reads.list, code.reads.n, &code.digest)) {
		code_reads_done(&code.reads);
		return err;
	}
	if (cache) {
		entry_init(&e, cache, build_id, inputs, &facts, NULL);
		put(&e, &code, ret);
	}
	*ret_source = image_source_new(inputs, &facts, &code.digest, &code.reads);
	return 0;
}

/* Of any other file; without `cache`, it is built. */
static int get_other(struct disk_cache *cache, const struct elf_file *file, struct image *ret,
		     struct image_source **ret_source)
{
	struct image_inputs inputs = image_inputs_of(file);
	int err;

	if (image_inputs_size(&inputs) > IMAGE_INPUTS_MAX)
		return image_build(&file->cfi, &file->code, ret);
	if (cache && get_kept(cache, file, ret, ret_source))
		return 1;
	if (image_inputs_copy(file, &inputs) < 0)
		return image_build(&file->cfi, &file->code, ret);
	err = build_copied(cache, file->build_id, &inputs, ret, ret_source);
	image_inputs_done(&inputs);
	return err;
}

int image_cache_get(struct disk_cache *cache, const struct elf_file *file, int fd, bool is_changed,
		    struct image *ret, struct image_source **ret_source)
{
	bool may_keep = is_worth_keeping(file) && !is_changed;
	struct mount_list *mounts = cache ? cache->mounts : NULL;
	struct file_identity identity;

	*ret_source = NULL;
	if (fd < 0 || file->build_id[0] == '\0' || disk_cache_is_foreign(fd))
		return image_build(&file->cfi, &file->code, ret);
	cache = may_keep ? cache : NULL;
	if (!is_changed && file->source != ELF_SOURCE_DEBUG_FILE &&
	    steady_file_identify(fd, mounts, &identity) == 0)
		return get_steady(cache, file, fd, mounts, &identity, ret, ret_source);
	return get_other(cache, file, ret, ret_source);
}
