// SPDX-License-Identifier: Apache-2.0
/* Files that names are made of: what is copied, what is hashed, and how much of it. */
#include "symbols/name_files.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The C library, which is steady where the machine stores it, and a copy, which never is. */
static int library, binary;
static struct name_files files;
static struct name_copies copies;

static void begin(void)
{
	Dl_info info;

	cr_assert(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info));
	library = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	binary = steady_file_copy(library, UINT64_MAX, NULL);
	cr_assert(library >= 0 && binary >= 0);
	name_copies_init(&copies);
	files = (struct name_files){ .mode = NAME_FILES_COPIED, .copies = &copies };
}

static void end(void)
{
	name_files_reset(&files, NAME_FILES_IGNORED);
	cr_expect(copies.n == 0 && copies.bytes == 0);
	name_copies_done(&copies);
	close(binary);
	close(library);
}

TestSuite(name_files, .init = begin, .fini = end);

/* A file without an identity, with zeros behind it up to a size. */
static int hole(uint64_t size, struct file_version *ret)
{
	int fd = memfd_create("hole", MFD_CLOEXEC);

	cr_assert(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	*ret = (struct file_version){ .size = size };
	if (size <= NAME_COPY_MAX)
		cr_assert_eq(digest_of_file(fd, size, NULL, &ret->digest), 0);
	else
		memset(&ret->digest, 1, sizeof(ret->digest));
	return fd;
}

/* Bytes that this process has read, in all of its threads. */
static uint64_t n_read(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/io", "re");
	uint64_t n;

	cr_assert(file && fscanf(file, "rchar: %" SCNu64, &n) == 1);
	return n;
}

/* Anyone may put a file of holes in the place of another one. */
Test(name_files, hash_nothing_of_another_size, .timeout = 60)
{
	struct file_version of_small, of_huge;
	_cleanup_close_ int small = hole(1 << 20, &of_small), huge = hole(1ULL << 40, &of_huge);
	uint64_t before = n_read();

	cr_expect(!name_file_is_same(&files, huge, &of_small));
	cr_expect(!name_file_is_same(&files, huge, &of_huge), "it is too large");
	cr_expect_lt(n_read() - before, 1 << 20);
	cr_expect(name_file_is_same(&files, small, &of_small));
}

/* Ctrl-C does not wait for what would be the same. */
Test(name_files, are_neither_hashed_nor_copied_when_told)
{
	atomic_bool stop = true;
	struct file_version of_small;
	_cleanup_close_ int small = hole(1 << 20, &of_small);
	uint64_t before = n_read();

	files.stop = &stop;
	cr_expect(!name_file_is_same(&files, small, &of_small));
	cr_expect_eq(name_files_add(&files, small, ""), small);
	cr_expect(files.is_incomplete);
	cr_expect_eq(copies.bytes, 0);
	if (steady_file_identify(library, NULL, &of_small.identity) == 0) {
		name_files_reset(&files, NAME_FILES_NOTED);
		cr_expect_eq(name_files_add(&files, library, ""), library);
		cr_expect_eq(name_files_hash(&files, library), -ECANCELED);
	}
	cr_expect_lt(n_read() - before, 1 << 20);
}

/* The time that passes between two looks at the clock. */
static uint64_t delay_ns;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	static uint64_t late_ns;
	uint64_t ns;
	int err = (int)syscall(SYS_clock_gettime, clock, ret);

	late_ns += delay_ns;
	ns = late_ns + (uint64_t)ret->tv_nsec;
	ret->tv_sec += (time_t)(ns / 1000000000);
	ret->tv_nsec = (long)(ns % 1000000000);
	return err;
}

/* A server may send a few bytes at a time. */
Test(name_files, are_read_for_a_limited_time)
{
	struct file_version of_small;
	_cleanup_close_ int small = hole(16 << 20, &of_small);
	uint64_t before = n_read();

	delay_ns = NAME_FILE_TIME_MAX / 4;
	cr_expect(!name_file_is_same(&files, small, &of_small));
	cr_expect_eq(name_files_add(&files, small, ""), small);
	delay_ns = 0;
	cr_expect(files.is_incomplete && copies.bytes == 0);
	cr_expect_lt(n_read() - before, 4 << 20);
	cr_expect(name_file_is_same(&files, small, &of_small));
}

/* Hashing a large one may take longer than reading its names; its identity is enough. */
Test(name_files, hash_no_large_file_that_is_steady)
{
	struct file_version *version;
	struct file_identity identity;
	uint64_t before;

	if (steady_file_identify(library, NULL, &identity) < 0)
		cr_skip("no file is steady here");
	name_files_reset(&files, NAME_FILES_NOTED);
	name_files_add(&files, library, "");
	version = &files.list[0].version;
	version->size = NAME_HASH_MAX + 1;
	before = n_read();
	cr_expect_eq(name_files_hash(&files, library), 0);
	cr_expect(name_file_is_same(&files, library, version));
	version->identity.ctime_ns ^= 1;
	cr_expect(!name_file_is_same(&files, library, version));
	cr_expect_lt(n_read() - before, 1 << 20);
}

/* What is parsed is what was hashed. */
Test(name_files, are_copies_of_what_others_may_change)
{
	char byte;
	int fd;

	fd = name_files_add(&files, binary, "");
	cr_assert(fd != binary);
	cr_assert_eq(copies.bytes, (uint64_t)lseek(fd, 0, SEEK_END));
	cr_assert_eq(pwrite(binary, "x", 1, 0), 1);
	cr_assert(pread(fd, &byte, 1, 0) == 1 && byte == 0x7f);
	cr_assert_eq(name_files_copy(&files), fd);
	/* Nothing is kept if copies are not made. */
	name_files_reset(&files, NAME_FILES_NOTED);
	cr_assert_eq(name_files_add(&files, binary, ""), binary);
	cr_assert_eq(name_files_hash(&files, binary), -ESTALE);
}

/* A copy counts before it is made, and until it is closed. */
Test(name_files, have_copies_of_limited_size_together)
{
	uint64_t size, full;

	size = (uint64_t)lseek(binary, 0, SEEK_END);
	name_files_reset(&files, NAME_FILES_COPIED);
	full = NAME_COPIES_BYTES_MAX / 2 - size;
	cr_assert_eq(name_copies_take(&copies, getuid(), full), 0);
	cr_assert_eq(name_copies_take(&copies, getuid(), 1), 0);
	cr_expect_eq(name_files_add(&files, binary, ""), binary);
	cr_expect_eq(copies.bytes, full + 1);
	cr_expect_eq(name_files_hash(&files, binary), -ESTALE);
	name_copies_give_back(&copies, getuid(), 1);
	name_files_reset(&files, NAME_FILES_COPIED);
	cr_expect_neq(name_files_add(&files, binary, ""), binary);
	cr_expect_eq(copies.bytes, full + size);
	name_files_reset(&files, NAME_FILES_COPIED);
	cr_expect_eq(copies.bytes, full);
	name_copies_give_back(&copies, getuid(), full);
}

/* Symbols and debug information are read from one copy, unless the file has changed meanwhile. */
Test(name_files, have_one_copy_each)
{
	uint64_t before;
	int first;

	name_files_reset(&files, NAME_FILES_COPIED);
	first = name_files_add(&files, binary, "/x");
	cr_assert_neq(first, binary);
	before = n_read();
	cr_expect_eq(name_files_add(&files, binary, "/x"), first);
	cr_expect_eq(copies.n, 1);
	cr_expect_lt(n_read() - before, 1 << 20, "nor is it read again");
	cr_assert_eq(pwrite(binary, "x", 1, 0), 1);
	cr_expect_neq(name_files_add(&files, binary, "/x"), first);
	cr_expect_eq(copies.n, 2);
	cr_expect_neq(name_files_add(&files, binary, ""), first);
	cr_expect_eq(copies.n, 3);
}

/* Nor can one user's files be all that there is room for, by number or by size. */
Test(name_files, are_copies_of_all_users)
{
	size_t n = 0;

	name_files_reset(&files, NAME_FILES_IGNORED);
	while (name_copies_take(&copies, 1, 1) == 0)
		cr_assert_leq(++n, NAME_COPIES_MAX / 2);
	cr_expect_eq(n, NAME_COPIES_MAX / 2);
	cr_expect_eq(name_copies_take(&copies, 2, NAME_COPIES_BYTES_MAX / 2 + 1), -EDQUOT);
	cr_expect_eq(name_copies_take(&copies, 2, UINT64_MAX), -EDQUOT);
	cr_expect_eq(name_copies_take(&copies, 2, NAME_COPIES_BYTES_MAX / 2), 0);
	cr_expect_eq(name_copies_take(&copies, 2, 1), -EDQUOT);
	cr_expect_eq(name_copies_take(&copies, 3, NAME_COPIES_BYTES_MAX / 2), -EDQUOT);
	for (uid_t user = 3; name_copies_take(&copies, user, 1) == 0; user++)
		cr_assert_leq(++n, NAME_COPIES_MAX - 1);
	cr_expect_eq(copies.n, NAME_COPIES_MAX);
	name_copies_give_back(&copies, 1, 1);
	cr_expect_eq(name_copies_take(&copies, 1, 1), 0);
	name_copies_init(&copies);
}

/* For each file of thousands of binaries, there would be another descriptor. */
Test(name_files, have_no_descriptor_of_a_steady_file)
{
	struct file_identity identity;
	int next = dup(library), again;

	close(next);
	if (steady_file_identify(library, NULL, &identity) < 0)
		cr_skip("no file is steady here");
	name_files_add(&files, library, "");
	cr_expect(files.n == 1 && files.list[0].copy < 0 && files.list[0].is_read);
	again = dup(library);
	cr_expect_eq(again, next);
	close(again);
	cr_expect_eq(name_files_hash(&files, library), 0);
}

/* What is known of it from the cache is not enough: it must be the same after it was read. */
Test(name_files, have_not_changed_while_they_were_read)
{
	struct file_version kept = { .digest = { { 1 } } };

	if (steady_file_identify(library, NULL, &kept.identity) < 0)
		cr_skip("no file is steady here");
	kept.size = kept.identity.size;
	name_files_add_kept(&files, "", &kept);
	cr_expect_eq(name_files_hash(&files, -1), 0, "it was not read");
	name_files_add(&files, library, "");
	cr_expect_eq(files.n, 1);
	cr_expect_eq(name_files_hash(&files, library), 0);
	files.list[0].version.identity.ctime_ns ^= 1;
	cr_expect_eq(name_files_hash(&files, library), -ESTALE);
}
