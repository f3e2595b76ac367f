// SPDX-License-Identifier: Apache-2.0
/*
 * An image kept on disk, as someone with access to the disk may make it. If it is accepted, walks in
 * it end, and stay in it. Input: the kind (1); 0: the file as it is; 1: the number of rows (8) and the
 * cells; 2: the sizes of the first two sections (2 each), and the sections; in a file with the right
 * key, sizes and checksum.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binaries/image_cache.h"
#include "tables/decode.h"
#include "tables/tests/fuzz_loaded.h"

#define N_KINDS 3
#define MAX_FRAMES 128
/* Walks from anywhere, and from so many rows. */
#define N_WALKS 16
#define N_ROWS 64
#define STACK UINT64_C(0x7fc000000000)

static const struct elf_origin origin = { .build_id = "0123456789abcdef", .unwind.size = 1 << 20 };
static char directory[] = "/tmp/fuzz_image_cache.XXXXXX";
static struct disk_cache disk;
static char name[DISK_CACHE_NAME_SIZE];
static struct cached_key key;
static struct cached_source binary = { -1 };

/* As if the file had no table, where none is kept. */
static int make_nothing(void *arg, struct image *ret)
{
	return -ENODATA;
}

static int make_something(void *arg, struct image *ret)
{
	*ret = (struct image){ .cells = calloc(1, DP_CELL_SIZE), .n_cells = 1 };
	return ret->cells ? 0 : -ENOMEM;
}

static void end(void)
{
	unlinkat(disk.fd, name, 0);
	disk_cache_close(&disk);
	rmdir(directory);
}

/* Learns the key from a file that was written. */
static void begin(void)
{
	struct cached_head head;
	struct stored_file file;
	struct image image;
	uint64_t size;
	int fd;

	binary.fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	EXPECT(binary.fd >= 0 && mkdtemp(directory));
	EXPECT(disk_cache_open(directory, 16 << 20, &disk) == 0);
	EXPECT(image_cache_get(&disk, &origin, &binary, make_something, NULL, &image) == 0);
	image_done(&image);
	EXPECT(cached_key_init(&key, &disk, "image", DP_IMAGE_VERSION, &binary, &file) == 0);
	cached_key_name(&key, DISK_CACHE_IMAGE, name);
	fd = disk_cache_open_file(&disk, name, &size);
	EXPECT(fd >= 0 && disk_cache_read(fd, &head, sizeof(head), 0) == 0);
	key = head.key;
	close(fd);
	atexit(end);
}

static struct iovec feed_part(struct feed *f, size_t size)
{
	size_t left = (size_t)(f->end - f->pos);
	struct iovec part = { (void *)f->pos, size < left ? size : left };

	f->pos += part.iov_len;
	return part;
}

static void write_file(struct feed *f)
{
	struct iovec sections[CACHED_N_SECTIONS] = { 0 };
	uint8_t kind = feed_u8(f) % N_KINDS;
	size_t sizes[] = { sizeof(uint64_t), SIZE_MAX };

	if (kind == 0) {
		sections[0] = feed_part(f, SIZE_MAX);
		EXPECT(disk_cache_put(&disk, name, sections, 1) == 0);
		return;
	}
	for (int i = 0; kind == 2 && i < 2; i++)
		sizes[i] = feed_number(f, 2);
	for (int i = 0; i < CACHED_N_SECTIONS; i++)
		sections[i] = feed_part(f, i < 2 ? sizes[i] : SIZE_MAX);
	EXPECT(cached_file_write(&disk, name, &key, sections) == 0);
}

static uint64_t mixed(uint64_t x)
{
	x *= UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 29;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ x >> 32;
}

/* Where code of the loaded image is, and where its stack. */
static uint64_t code_start, code_size;

/* Memory has what leads on: return addresses, and addresses of the stack further up. */
static int read_memory(struct port_user *user, void *dst, uint32_t size, uint64_t address)
{
	if (mixed(address / 4096) % 64 == 0)
		return -EFAULT;
	for (uint32_t i = 0; i < size; i++) {
		uint64_t at = address + i, m = mixed(at / 8), word = m % 16;

		if (m % 4 < 2)
			word = code_start + (m >> 8) % code_size;
		else if (m % 4 == 2)
			word = at / 8 * 8 + (m >> 8) % 512;
		((uint8_t *)dst)[i] = (uint8_t)(word >> at % 8 * 8);
	}
	return 0;
}

static void walk_from(uint64_t pc)
{
	struct walk_input *in = &walker.in;

	for (int i = 0; i < DP_N_REGISTERS; i++)
		in->regs.reg[i] = mixed(pc + (uint64_t)i);
	in->regs.reg[DP_REG_PC] = pc;
	in->regs.reg[DP_REG_SP] = STACK;
	in->regs.reg[DP_REG_FP] = STACK + 64;
	in->max_frames = MAX_FRAMES;
	walk_run(&walker);
	walk_spell_out(&walker);
	EXPECT(walker.out.sample.outcome > DP_WALKING && walker.out.sample.outcome < DP_N_OUTCOMES);
	EXPECT(walker.at.n_frames > 0 && walker.at.n_frames <= MAX_FRAMES);
}

static int walk_from_row(const struct image_row *row, void *arg)
{
	size_t *n = arg;

	walk_from(row->start);
	walk_from(row->end - 1);
	return ++*n < N_ROWS ? 0 : 1;
}

/* An image whose rows are all checked can be decoded. */
static bool is_small(const struct image *image)
{
	return (size_t)image->n_cells * DP_CELL_SIZE < UINT16_MAX * sizeof(uint16_t);
}

static void walk_in(const struct image *image)
{
	const struct dp_image *head = (const void *)image->cells;
	size_t n = 0;

	code_start = head->base;
	code_size = (uint64_t)head->n_pages << DP_PAGE_BITS;
	if (code_size == 0)
		return;
	load(image, read_memory);
	walk_forget(&walker);
	for (uint64_t i = 0; i < N_WALKS; i++)
		walk_from(code_start + mixed(i) % code_size);
	if (is_small(image))
		EXPECT(image_for_each_row(image, walk_from_row, &n) >= 0);
	unload();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(image_done) struct image image = { 0 };
	struct feed feed = { data, data + size };
	int from;

	if (binary.fd < 0)
		begin();
	write_file(&feed);
	from = image_cache_get(&disk, &origin, &binary, make_nothing, NULL, &image);
	EXPECT(from == 1 || (from == -ENODATA && !image.cells));
	if (from == 1)
		walk_in(&image);
	return 0;
}
