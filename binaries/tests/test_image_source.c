// SPDX-License-Identifier: Apache-2.0
/* What fits is told by what an image was made of, not by what its file has now. */
#include "binaries/image_source.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "binaries/image_cache.h"

/* A copy of the C library in memory, which nobody believes, and its bytes to be changed. */
static int copy_libc(uint8_t **ret_bytes)
{
	Dl_info info;
	int libc, fd;

	cr_assert(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info));
	libc = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	fd = steady_file_copy(libc, UINT64_MAX, NULL);
	cr_assert(fd >= 0);
	*ret_bytes = mmap(NULL, (size_t)lseek(fd, 0, SEEK_END), PROT_READ | PROT_WRITE, MAP_SHARED,
			  fd, 0);
	cr_assert(*ret_bytes != MAP_FAILED);
	close(libc);
	return fd;
}

static struct image_source *make(struct disk_cache *cache, const struct elf_file *file, int fd,
				 int expected)
{
	struct image_source *source;
	struct image image;

	cr_assert_eq(image_cache_get(cache, file, fd, false, &image, &source), expected);
	image_done(&image);
	cr_assert(source && !source->is_steady);
	return source;
}

/* Flips a bit of the file: the image then does not fit. */
static void expect_other(const struct image_source *source, const struct elf_file *file,
			 uint8_t *bytes, const uint8_t *at)
{
	bytes[at - file->bytes] ^= 1;
	cr_expect(!image_source_fits(source, file), "at %#tx", at - file->bytes);
	bytes[at - file->bytes] ^= 1;
	cr_expect(image_source_fits(source, file));
}

Test(image_source, fits_the_same_bytes)
{
	struct image_source *source;
	struct elf_file file;
	uint8_t *bytes;
	int fd = copy_libc(&bytes);

	cr_assert_eq(elf_file_init_fd(&file, fd), 0);
	source = make(NULL, &file, fd, 0);
	cr_assert_gt(source->reads.n, 100);
	expect_other(source, &file, bytes, file.cfi.data + 100);
	for (size_t i = 0; i < source->reads.n; i += source->reads.n / 10) {
		const struct code_read *read = &source->reads.list[i];

		expect_other(source, &file, bytes, file.ranges[read->range].bytes + read->offset);
	}
	file.code.entry ^= 1;
	cr_expect(!image_source_fits(source, &file));
	image_source_drop(source);
	elf_file_done(&file);
}

/* The words of its header count as they were read, which may be before its other bytes. */
Test(image_source, is_of_the_words_of_a_go_table)
{
	struct image_source *source;
	struct elf_file file;
	struct pclntab *t = &file.code.go;
	uint64_t *const words[] = { &t->n_functions, &t->names,     &t->units, &t->files,
				    &t->values,      &t->functions, &t->text };
	uint8_t *bytes;
	int fd = copy_libc(&bytes);

	cr_assert_eq(elf_file_init_fd(&file, fd), 0);
	source = make(NULL, &file, fd, 0);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		*words[i] ^= 1;
		cr_expect(!image_source_fits(source, &file), "word %zu", i);
		*words[i] ^= 1;
	}
	cr_expect(image_source_fits(source, &file));
	image_source_drop(source);
	elf_file_done(&file);
}

/* One with as many reads as there may be. */
static struct image_source *make_large(void)
{
	const struct image_inputs inputs = { 0 };
	const struct digest none = { { 0 } };
	struct code_reads reads = { .list = calloc(CODE_READS_MAX, sizeof(*reads.list)),
				    .n = CODE_READS_MAX };

	cr_assert(reads.list);
	return image_source_new(&inputs, &none, &none, &reads);
}

/* Forged files could have the reads of thousands of tables fill the memory. */
Test(image_source, is_kept_up_to_a_limit)
{
	struct image_source *kept[IMAGE_SOURCES_MAX / (CODE_READS_MAX * sizeof(struct code_read))];
	const size_t n = sizeof(kept) / sizeof(kept[0]);
	struct image_source *other;

	for (size_t i = 0; i < n; i++)
		cr_assert(kept[i] = image_source_keep(make_large()));
	cr_expect(!image_source_keep(make_large()));
	cr_expect(!image_source_keep(make_large()), "nor one that follows");
	other = image_source_hold(kept[0]);
	image_source_drop(kept[0]);
	cr_expect(!image_source_keep(make_large()), "it has another user");
	image_source_drop(other);
	cr_expect(kept[0] = image_source_keep(make_large()));
	for (size_t i = 0; i < n; i++)
		image_source_drop(kept[i]);
	cr_expect(!image_source_keep(NULL));
}

/* The same bytes at other places are other code. */
Test(image_source, is_of_the_places_of_code)
{
	static const uint8_t bytes[8] = { 0 };
	const struct code_range range = { .size = sizeof(bytes), .bytes = bytes };
	const struct image_inputs inputs = { .code = { .ranges = &range, .n_ranges = 1 } };
	struct digest first, other;

	cr_assert(image_inputs_describe_code(
		&inputs, (struct code_read[]){ { .offset = 0, .size = 4 } }, 1, &first));
	cr_assert(image_inputs_describe_code(
		&inputs, (struct code_read[]){ { .offset = 4, .size = 4 } }, 1, &other));
	cr_expect(memcmp(&first, &other, sizeof(first)) != 0);
}

/* It is the same whether an image was built or comes from the cache. */
Test(image_source, is_that_of_an_image_from_the_cache)
{
	char directory[] = "/tmp/image_source.XXXXXX", command[64];
	struct image_source *source, *again;
	struct disk_cache cache;
	struct elf_file file;
	struct image image;
	uint8_t *bytes;
	int fd = copy_libc(&bytes);

	cr_assert(mkdtemp(directory));
	cr_assert_eq(disk_cache_open(directory, 16 << 20, &cache), 0);
	cr_assert_eq(elf_file_init_fd(&file, fd), 0);
	/* If the file has changed, nothing is kept, and the facts are those of a copy. */
	cr_assert_eq(image_cache_get(&cache, &file, fd, true, &image, &source), 0);
	image_done(&image);
	cr_assert(source && image_source_fits(source, &file));
	for (int from_cache = 0; from_cache < 2; from_cache++) {
		again = make(&cache, &file, fd, from_cache);
		cr_expect(image_source_is_same(source, again) && again->reads.n == source->reads.n);
		image_source_drop(again);
	}
	image_source_drop(source);
	elf_file_done(&file);
	disk_cache_close(&cache);
	snprintf(command, sizeof(command), "rm -r '%s'", directory);
	cr_assert_eq(system(command), 0);
}
