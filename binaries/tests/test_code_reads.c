// SPDX-License-Identifier: Apache-2.0
/*
 * What image_build() notes as read of real files' code is all that their images depend on: with any
 * other bytes in between, they are the same.
 */
#include "tables/code_reads.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "binaries/image_inputs.h"
#include "elf/elf_file.h"

/* Writes other bytes wherever none were read. */
static void scramble(struct code_range *range, const struct code_reads *reads, size_t number,
		     uint8_t *bytes)
{
	for (size_t i = 0; i < range->size; i++)
		bytes[i] = (uint8_t)random();
	for (size_t i = 0; i < reads->n; i++)
		if (reads->list[i].range == number)
			memcpy(bytes + reads->list[i].offset, range->bytes + reads->list[i].offset,
			       reads->list[i].size);
	range->bytes = bytes;
}

static void expect_all_reads(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct code_reads reads = { 0 };
	struct image image, other;
	struct elf_file file;

	if (fd < 0 || elf_file_init_fd(&file, fd) < 0)
		return;
	reads.ranges = file.ranges;
	for (size_t i = 0; i < file.code.n_ranges; i++)
		file.ranges[i].reads = &reads;
	cr_assert_eq(image_build(&file.cfi, &file.code, &image), 0, "%s", path);
	cr_assert(!reads.is_incomplete);
	for (size_t i = 0; i < file.code.n_ranges; i++) {
		file.ranges[i].reads = NULL;
		scramble(&file.ranges[i], &reads, i, malloc(file.ranges[i].size + 1));
	}
	cr_assert_eq(image_build(&file.cfi, &file.code, &other), 0, "%s", path);
	cr_assert_eq(image.n_cells, other.n_cells, "%s", path);
	cr_assert(memcmp(image.cells, other.cells, image.n_cells * 8UL) == 0, "%s", path);
	for (size_t i = 0; i < file.code.n_ranges; i++)
		free((void *)file.ranges[i].bytes);
	code_reads_done(&reads);
	image_done(&image);
	image_done(&other);
	elf_file_done(&file);
}

/* The same code in turn, as a forged file could have it read for ever. */
Test(code_reads, have_a_limit)
{
	struct code_range range = { .address = 0x1000, .size = 16 << 20 };
	struct code_reads reads = { .ranges = &range };
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < 100000 && !reads.is_incomplete; i++) {
		code_reads_add(&reads, &range, 0x1000 + (i % 8) * (1 << 20), 60000);
		cr_assert_leq(reads.bytes, CODE_READS_BYTES_MAX);
	}
	cr_assert(reads.is_incomplete);
	for (size_t i = 0; i < reads.n; i++)
		bytes += reads.list[i].size;
	cr_expect_eq(bytes, reads.bytes);
	cr_expect_gt(bytes, CODE_READS_BYTES_MAX - 60000);
	code_reads_done(&reads);
	/* Of one byte each. */
	reads.ranges = &range;
	for (uint64_t i = 0; !reads.is_incomplete; i++) {
		code_reads_add(&reads, &range, 0x1000 + (i % 8) * (1 << 20), 1);
		cr_assert_leq(reads.n, CODE_READS_MAX);
	}
	cr_expect_eq(reads.n, CODE_READS_MAX);
	code_reads_done(&reads);
}

/* Nor is a list from the cache believed, which may be anyone's. */
Test(code_reads, are_hashed_up_to_a_limit)
{
	static const uint8_t bytes[UINT16_MAX];
	struct code_range range = { .address = 0x1000, .size = sizeof(bytes), .bytes = bytes };
	const struct image_inputs inputs = { .code = { .ranges = &range, .n_ranges = 1 } };
	size_t n = CODE_READS_BYTES_MAX / UINT16_MAX;
	struct code_read *reads = calloc(CODE_READS_MAX + 1, sizeof(*reads));
	struct digest digest;

	cr_expect(image_inputs_describe_code(&inputs, reads, CODE_READS_MAX, &digest));
	cr_expect(!image_inputs_describe_code(&inputs, reads, CODE_READS_MAX + 1, &digest));
	for (size_t i = 0; i <= n; i++)
		reads[i].size = UINT16_MAX;
	cr_expect(image_inputs_describe_code(&inputs, reads, n, &digest));
	cr_expect(!image_inputs_describe_code(&inputs, reads, n + 1, &digest));
	free(reads);
}

Test(code_reads, are_all_that_images_depend_on)
{
	static const char *const paths[] = {
		"/proc/self/exe",
		"/lib64/ld-linux-x86-64.so.2",
		"/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/bin/python3",
		"/usr/lib/go/bin/gofmt",
	};
	Dl_info info;

	cr_assert(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info));
	expect_all_reads(info.dli_fname);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		expect_all_reads(paths[i]);
}
