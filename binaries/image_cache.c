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
#include "tables/code_reads.h"
#include "tables/image_check.h"

/* From less unwind information than this, building an image is as fast as reading one. */
#define MIN_SOURCE_SIZE 4096

/* A larger file that is not steady has its image built anew: a copy takes as long. */
#define MAX_COPY_SIZE (UINT64_C(32) << 20)

/* The file's sections: struct figures, struct code_read of each read, and the image's cells. */
enum { FIGURES, READS, CELLS };

struct figures {
	uint64_t n_rows;
	struct digest code; /* of all bytes read, in this order */
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

	if (!cache)
		return;
	own = *cache;
	own.fd = fcntl(cache->fd, F_DUPFD_CLOEXEC, 0);
	if (own.fd >= 0)
		names_set_cache(names, &own);
}

static void add_section(struct sha256_ctx *ctx, const struct cfi_section *section)
{
	const uint64_t facts[] = { section->address, section->size, section->debug_frame };

	digest_add(ctx, facts, sizeof(facts));
	digest_add(ctx, section->data, section->size);
}

static void add_go(struct sha256_ctx *ctx, const struct image_extent *code)
{
	const uint64_t facts[] = { code->go.size, code->go.layout, code->go.text, code->go_minor };

	digest_add(ctx, facts, sizeof(facts));
	digest_add(ctx, code->go.data, code->go.size);
}

/* What the image depends on, except for the code's bytes: which of them, the image tells. */
static struct digest describe(const struct elf_file *file)
{
	const struct image_extent *code = &file->code;
	const uint64_t facts[] = { code->start, code->end, code->entry, code->n_ranges };
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	digest_add(&ctx, facts, sizeof(facts));
	for (size_t i = 0; i < code->n_ranges; i++) {
		const struct code_range *r = &code->ranges[i];

		digest_add(&ctx, (uint64_t[]){ r->address, r->size }, 2 * sizeof(uint64_t));
	}
	add_section(&ctx, &file->cfi);
	add_section(&ctx, &code->beside);
	add_go(&ctx, code);
	return digest_finish(&ctx);
}

/* Number of reads to prefetch: nearly each one is in a cache line of its own. */
#define AHEAD 16

static void fetch_ahead(const struct image_extent *code, const struct code_read *reads, size_t n)
{
	if (n > AHEAD && reads[AHEAD].range < code->n_ranges)
		__builtin_prefetch(code->ranges[reads[AHEAD].range].bytes + reads[AHEAD].offset);
}

/* The digest of the code's bytes. False: the file does not have them all. */
static bool describe_reads(const struct image_extent *code, const struct code_read *reads, size_t n,
			   struct digest *ret)
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	for (size_t i = 0; i < n; i++) {
		const struct code_read *r = &reads[i];

		fetch_ahead(code, r, n - i);
		if (r->range >= code->n_ranges ||
		    (uint64_t)r->offset + r->size > code->ranges[r->range].size)
			return false;
		digest_add(&ctx, code->ranges[r->range].bytes + r->offset, r->size);
	}
	*ret = digest_finish(&ctx);
	return true;
}

/* An entry of the cache: what has to be in it, and the name of its file. */
struct entry {
	struct disk_cache *cache;
	const struct elf_file *file;
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

static void entry_init(struct entry *ret, struct disk_cache *cache, const struct elf_file *file,
		       const struct file_identity *identity)
{
	const struct digest source = identity ? describe_steady(identity) : describe(file);
	const char *kind = identity ? "steady" : "image";
	uint64_t number;

	*ret = (struct entry){ .cache = cache, .file = file, .identity = identity };
	kept_key_init(&ret->key, cache, kind, DP_IMAGE_VERSION, &source);
	memcpy(&number, source.bytes, sizeof(number));
	snprintf(ret->name, sizeof(ret->name), "%s-%016" PRIx64 "-v%d" DISK_CACHE_IMAGE,
		 file->build_id, number, DP_IMAGE_VERSION);
}

static bool has_same_code(const struct entry *e, const struct iovec *reads,
			  const struct digest *wanted)
{
	struct digest code;

	return e->identity || (describe_reads(&e->file->code, reads->iov_base,
					      reads->iov_len / sizeof(struct code_read), &code) &&
			       memcmp(&code, wanted, sizeof(code)) == 0);
}

static int get(const struct entry *e, struct image *ret)
{
	_cleanup_(kept_file_done) struct kept_file file = { 0 };
	struct iovec *figures = &file.sections[FIGURES], *reads = &file.sections[READS];
	struct iovec *cells = &file.sections[CELLS];
	const struct figures *kept;
	struct image image = { 0 };
	int err = kept_file_read(e->cache, e->name, &e->key, &file);

	if (err < 0)
		return err;
	if (figures->iov_len != sizeof(*kept) || reads->iov_len % sizeof(struct code_read) != 0 ||
	    cells->iov_len % DP_CELL_SIZE != 0 || cells->iov_len / DP_CELL_SIZE > UINT32_MAX)
		return -EBADMSG;
	kept = figures->iov_base;
	if (!has_same_code(e, reads, &kept->code))
		return -ESTALE;
	image.n_cells = (uint32_t)(cells->iov_len / DP_CELL_SIZE);
	/* The checksum proves nothing: the author of a forged image can compute it, too. */
	if (!image_is_sound(cells->iov_base, image.n_cells))
		return -EBADMSG;
	image.stats.n_rows = kept->n_rows;
	image.cells = steal_ptr(cells->iov_base);
	*ret = image;
	return 0;
}

static int put(const struct entry *e, const struct code_reads *reads, const struct image *image)
{
	struct figures figures = { .n_rows = image->stats.n_rows };

	if (reads->is_incomplete ||
	    !describe_reads(&e->file->code, reads->list, reads->n, &figures.code))
		return -EFBIG;
	return kept_file_write(
		e->cache, e->name, &e->key,
		(struct iovec[KEPT_N_SECTIONS]){
			[FIGURES] = { &figures, sizeof(figures) },
			[READS] = { reads->list, reads->n * sizeof(*reads->list) },
			[CELLS] = { image->cells, (size_t)image->n_cells * DP_CELL_SIZE },
		});
}

/* Builds an image, and notes what code it reads. */
static int build(const struct elf_file *file, struct code_reads *reads, struct image *ret)
{
	int err;

	reads->ranges = file->ranges;
	for (size_t i = 0; i < file->code.n_ranges; i++)
		file->ranges[i].reads = reads;
	err = image_build(&file->cfi, &file->code, ret);
	for (size_t i = 0; i < file->code.n_ranges; i++)
		file->ranges[i].reads = NULL;
	return err;
}

static bool has_changed(int fd, const struct file_identity *before)
{
	struct file_identity now;

	return steady_file_identify(fd, &now) < 0 || memcmp(&now, before, sizeof(now)) != 0;
}

/* A steady file has an identity; the others' bytes are a copy. */
static int get_or_build(struct disk_cache *cache, const struct elf_file *file, int fd,
			const struct file_identity *identity, struct image *ret)
{
	_cleanup_(code_reads_done) struct code_reads reads = { 0 };
	struct entry e;
	int err;

	entry_init(&e, cache, file, identity);
	err = get(&e, ret);
	if (err == 0)
		return 1;
	if (err != -ENOENT)
		log_debug("cache: cannot use %s: %s", e.name, strerror(-err));
	err = identity ? image_build(&file->cfi, &file->code, ret) : build(file, &reads, ret);
	if (err < 0)
		return err;
	err = identity && has_changed(fd, identity) ? -ESTALE : put(&e, &reads, ret);
	if (err < 0)
		log_debug("cache: cannot keep %s: %s", e.name, strerror(-err));
	return 0;
}

static bool is_worth_keeping(const struct elf_file *file)
{
	return file->build_id[0] != '\0' && file->source != ELF_SOURCE_DEBUG_FILE &&
	       file->cfi.size + file->go.table.size >= MIN_SOURCE_SIZE;
}

/* False: there is nothing to keep of it. */
static bool open_copy(int copy, struct elf_file *ret)
{
	if (copy < 0 || elf_file_init_fd(ret, copy) < 0)
		return false;
	if (is_worth_keeping(ret))
		return true;
	elf_file_done(ret);
	return false;
}

/* The same for a file that is not steady: all is done with a copy. */
static int get_or_build_copy(struct disk_cache *cache, const struct elf_file *file, int fd,
			     struct image *ret)
{
	_cleanup_close_ int copy_fd = steady_file_copy(fd, MAX_COPY_SIZE, NULL);
	struct elf_file copy;
	int err;

	if (!open_copy(copy_fd, &copy))
		return image_build(&file->cfi, &file->code, ret);
	err = get_or_build(cache, &copy, -1, NULL, ret);
	elf_file_done(&copy);
	return err;
}

int image_cache_get(struct disk_cache *cache, const struct elf_file *file, int fd,
		    struct image *ret)
{
	struct file_identity identity;

	if (!cache || fd < 0 || !is_worth_keeping(file) || disk_cache_is_foreign(fd))
		return image_build(&file->cfi, &file->code, ret);
	if (steady_file_identify(fd, &identity) == 0)
		return get_or_build(cache, file, fd, &identity, ret);
	return get_or_build_copy(cache, file, fd, ret);
}
