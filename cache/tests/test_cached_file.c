// SPDX-License-Identifier: Apache-2.0
/*
 * The cache's file format: sections are read back as written, and refused under another key, with a
 * flipped bit, or if cut off.
 */
#include "cache/cached_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NAME "00-1-v1.image"

static char directory[64], path[96];
static struct disk_cache cache;
static struct cached_key key = { .kind = "test", .layout = 1, .own = { 1, 2, 3, 4, 5, 6 } };

static void begin(void)
{
	snprintf(directory, sizeof(directory), "/tmp/cached_file.XXXXXX");
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

TestSuite(cached_file, .init = begin, .fini = end);

/* One is empty; another has a size that leaves the next unaligned. */
static const struct iovec sections[CACHED_N_SECTIONS] = { { (void *)"abc", 3 },
							  { NULL, 0 },
							  { (void *)"defgh", 5 } };

static int read_file(const struct cached_key *wanted)
{
	_cleanup_(cached_file_done) struct cached_file file = { 0 };
	int err = cached_file_read(&cache, NAME, wanted, &file);

	for (size_t i = 0; i < CACHED_N_SECTIONS; i++) {
		const struct iovec *s = &file.sections[i];

		cr_assert_eq(s->iov_len, err == 0 ? sections[i].iov_len : 0, "%zu", i);
		cr_assert(s->iov_len == 0 ||
			  memcmp(s->iov_base, sections[i].iov_base, s->iov_len) == 0);
	}
	return err;
}

Test(cached_file, has_what_was_written)
{
	cr_assert_eq(read_file(&key), -ENOENT);
	cr_assert_eq(cached_file_write(&cache, NAME, &key, sections), 0);
	cr_assert_eq(read_file(&key), 0);
}

Test(cached_file, is_of_one_key)
{
	struct cached_key other = key;

	cr_assert_eq(cached_file_write(&cache, NAME, &key, sections), 0);
	for (size_t i = 0; i < sizeof(other); i++) {
		((uint8_t *)&other)[i] ^= 1;
		cr_assert_eq(read_file(&other), -ESTALE, "byte %zu", i);
		((uint8_t *)&other)[i] ^= 1;
	}
	cr_assert_eq(read_file(&other), 0);
}

Test(cached_file, tells_each_flipped_bit)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	uint8_t byte;

	cr_assert_eq(cached_file_write(&cache, NAME, &key, sections), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	cr_assert(fstat(fd, &st) == 0 && st.st_size == sizeof(struct cached_head) + 8);
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

Test(cached_file, is_refused_if_cut_off_or_longer)
{
	const off_t whole = sizeof(struct cached_head) + 8;

	for (off_t size = 0; size < whole + 16; size++) {
		int err;

		cr_assert_eq(cached_file_write(&cache, NAME, &key, sections), 0);
		cr_assert_eq(truncate(path, size), 0);
		err = read_file(&key);
		cr_assert(size == whole ? err == 0 : err == -ESTALE || err == -EBADMSG,
			  "%ld bytes: %d", (long)size, err);
	}
}

/* Sizes whose sum is the file's by overflow. */
Test(cached_file, takes_no_sizes_that_overflow)
{
	struct cached_head head;

	cached_head_init(&head, &key, sections);
	cr_assert(cached_head_is_of(&head, &key, sizeof(head) + 8));
	head.sizes[0] = UINT64_MAX - 7;
	head.sizes[1] = 8;
	head.sizes[2] = 8;
	cr_assert(!cached_head_is_of(&head, &key, sizeof(head) + 8));
}

/* A settled file in memory, and a reader of its digest that counts. */
static int new_source(void)
{
	int fd = memfd_create("source", MFD_CLOEXEC);
	struct stored_identity identity;

	cr_assert_eq(write(fd, "abc", 3), 3);
	while (stored_file_identify(fd, &identity) == -ESTALE)
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	return fd;
}

static int read_counted(void *arg, int fd, struct file_digest *ret)
{
	++*(int *)arg;
	return file_digest_read(fd, ret);
}

static int read_nothing(void *arg, int fd, struct file_digest *ret)
{
	return -EFBIG;
}

static int read_while_changed(void *arg, int fd, struct file_digest *ret)
{
	cr_assert_eq(pwrite(fd, "x", 1, 0), 1);
	return file_digest_read(fd, ret);
}

static int init_key(const struct cached_source *source, struct cached_key *ret)
{
	struct stored_file file;

	return cached_key_init(ret, &cache, "test", 7, source, &file);
}

static void remove_digests(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -f %s/*" DISK_CACHE_DIGEST, directory);
	cr_assert_eq(system(command), 0);
}

/* As the digest of "abc" begins. */
#define ABC "ba7816bf8f01cfea414140de5dae2223"

Test(cached_file, is_of_a_digest_that_is_read_once, .timeout = 60)
{
	int n = 0;
	_cleanup_close_ int fd = new_source();
	const struct cached_source source = { fd, read_counted, &n };
	struct cached_key first, second;
	char name[DISK_CACHE_NAME_SIZE];

	cr_assert_eq(init_key(&source, &first), 0);
	cr_assert_eq(init_key(&source, &second), 0);
	cr_assert_eq(n, 1);
	cr_assert_eq(memcmp(&first, &second, sizeof(first)), 0);
	cached_key_name(&first, ".x", name);
	cr_assert_eq(strncmp(name, ABC "-", strlen(ABC "-")), 0, "%s", name);
	cr_assert(strstr(name, "-v7.x"));
	remove_digests();
	cr_assert_eq(init_key(&source, &second), 0);
	cr_assert_eq(n, 2);
	cr_assert_eq(init_key(&(struct cached_source){ fd }, &second), 0);
	cr_assert_eq(memcmp(&first, &second, sizeof(first)), 0);
	remove_digests();
}

Test(cached_file, is_of_no_costly_digest_that_is_not_known, .timeout = 60)
{
	_cleanup_close_ int fd = new_source();
	const struct cached_source source = { fd }, costly = { fd, .is_costly = true };
	struct stored_file file;
	struct cached_key got;

	cr_assert_eq(init_key(&costly, &got), -ENOENT);
	cr_assert_eq(init_key(&source, &got), 0);
	cr_assert_eq(init_key(&costly, &got), 0);
	cr_assert_eq(cached_key_init(&got, &cache, "other", 7, &costly, &file), -ENOENT);
	remove_digests();
}

Test(cached_file, is_not_of_what_has_no_digest, .timeout = 60)
{
	int n = 0;
	_cleanup_close_ int fd = new_source();
	const struct cached_source source = { fd, read_counted, &n };
	struct stored_identity identity;
	struct cached_key got;

	cr_assert_eq(init_key(&(struct cached_source){ fd, read_nothing }, &got), -EFBIG);
	cr_assert_eq(init_key(&(struct cached_source){ fd, read_while_changed }, &got), -ESTALE);
	/* It has just changed, unless a busy machine let it settle. */
	while (init_key(&source, &got) != -ESTALE || n > 0) {
		cr_assert_neq(stored_file_identify(fd, &identity), -ESTALE);
		remove_digests();
		n = 0;
		cr_assert_eq(pwrite(fd, "x", 1, 0), 1);
	}
}
