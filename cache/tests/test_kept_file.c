// SPDX-License-Identifier: Apache-2.0
/*
 * The cache's file format: sections are read back as written, and refused under another key, with a
 * flipped bit, or if cut off.
 */
#include "cache/kept_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NAME "00-1-v1.image"

static char directory[64], path[96];
static struct disk_cache cache;
static struct kept_key key = { .kind = "test", .layout = 1, .own = { 1, 2, 3, 4, 5, 6 } };

static void begin(void)
{
	snprintf(directory, sizeof(directory), "/tmp/kept_file.XXXXXX");
	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/" NAME, directory);
	cr_assert_eq(disk_cache_open(directory, 16 << 20, &cache), 0);
}

static void end(void)
{
	disk_cache_close(&cache);
	cr_assert(unlink(path) == 0 || errno == ENOENT);
	cr_assert_eq(rmdir(directory), 0);
}

TestSuite(kept_file, .init = begin, .fini = end);

/* One is empty; another has a size that leaves the next unaligned. */
static const struct iovec sections[KEPT_N_SECTIONS] = { { (void *)"abc", 3 },
							{ NULL, 0 },
							{ (void *)"defgh", 5 } };

static int read_file(const struct kept_key *wanted)
{
	_cleanup_(kept_file_done) struct kept_file file = { 0 };
	int err = kept_file_read(&cache, NAME, wanted, &file);

	for (size_t i = 0; i < KEPT_N_SECTIONS; i++) {
		const struct iovec *s = &file.sections[i];

		cr_assert_eq(s->iov_len, err == 0 ? sections[i].iov_len : 0, "%zu", i);
		cr_assert(s->iov_len == 0 ||
			  memcmp(s->iov_base, sections[i].iov_base, s->iov_len) == 0);
	}
	return err;
}

Test(kept_file, has_what_was_written)
{
	cr_assert_eq(read_file(&key), -ENOENT);
	cr_assert_eq(kept_file_write(&cache, NAME, &key, sections), 0);
	cr_assert_eq(read_file(&key), 0);
}

Test(kept_file, is_of_one_key)
{
	struct kept_key other = key;

	cr_assert_eq(kept_file_write(&cache, NAME, &key, sections), 0);
	for (size_t i = 0; i < sizeof(other); i++) {
		((uint8_t *)&other)[i] ^= 1;
		cr_assert_eq(read_file(&other), -ESTALE, "byte %zu", i);
		((uint8_t *)&other)[i] ^= 1;
	}
	cr_assert_eq(read_file(&other), 0);
}

Test(kept_file, tells_each_flipped_bit)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	uint8_t byte;

	cr_assert_eq(kept_file_write(&cache, NAME, &key, sections), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	cr_assert(fstat(fd, &st) == 0 && st.st_size == sizeof(struct kept_head) + 8);
	for (off_t bit = 0; bit < 8 * st.st_size; bit++) {
		int err;

		cr_assert_eq(pread(fd, &byte, 1, bit / 8), 1);
		byte ^= (uint8_t)(1 << bit % 8);
		cr_assert_eq(pwrite(fd, &byte, 1, bit / 8), 1);
		err = read_file(&key);
		cr_assert(err == -ESTALE || err == -EBADMSG, "bit %ld: %d", (long)bit, err);
		byte ^= (uint8_t)(1 << bit % 8);
		cr_assert_eq(pwrite(fd, &byte, 1, bit / 8), 1);
	}
	cr_assert_eq(read_file(&key), 0);
}

Test(kept_file, is_refused_if_cut_off_or_longer)
{
	const off_t whole = sizeof(struct kept_head) + 8;

	for (off_t size = 0; size < whole + 16; size++) {
		int err;

		cr_assert_eq(kept_file_write(&cache, NAME, &key, sections), 0);
		cr_assert_eq(truncate(path, size), 0);
		err = read_file(&key);
		cr_assert(size == whole ? err == 0 : err == -ESTALE || err == -EBADMSG,
			  "%ld bytes: %d", (long)size, err);
	}
}

/* Sizes whose sum is the file's by overflow. */
Test(kept_file, takes_no_sizes_that_overflow)
{
	struct kept_head head;

	kept_head_init(&head, &key, sections);
	cr_assert(kept_head_is_of(&head, &key, sizeof(head) + 8));
	head.sizes[0] = UINT64_MAX - 7;
	head.sizes[1] = 8;
	head.sizes[2] = 8;
	cr_assert(!kept_head_is_of(&head, &key, sizeof(head) + 8));
}
