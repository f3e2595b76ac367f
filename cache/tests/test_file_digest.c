// SPDX-License-Identifier: Apache-2.0
/* The digest of a file is that of its bytes, all of them, and of nothing else. */
#include "cache/file_digest.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"

static const char *digest_of(int fd)
{
	static char hex[2 * FILE_DIGEST_SIZE + 1];
	struct file_digest digest;

	cr_assert_eq(file_digest_read(fd, &digest), 0);
	for (size_t i = 0; i < FILE_DIGEST_SIZE; i++)
		sprintf(hex + 2 * i, "%02x", digest.bytes[i]);
	return hex;
}

/* Nothing, and the three examples of FIPS 180-2, appendix B. */
Test(file_digest, is_as_the_standard_says)
{
	_cleanup_close_ int fd = memfd_create("digest", MFD_CLOEXEC);
	char many[1000];

	cr_expect_str_eq(digest_of(fd),
			 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	cr_assert_eq(write(fd, "abc", 3), 3);
	cr_expect_str_eq(digest_of(fd),
			 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	cr_assert_eq(pwrite(fd, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, 0),
		     56);
	cr_expect_str_eq(digest_of(fd),
			 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	cr_assert_eq(ftruncate(fd, 0), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	memset(many, 'a', sizeof(many));
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(write(fd, many, sizeof(many)), sizeof(many));
	cr_expect_str_eq(digest_of(fd),
			 "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

Test(file_digest, depends_on_each_byte)
{
	_cleanup_close_ int fd = memfd_create("digest", MFD_CLOEXEC);
	const off_t places[] = { 0, 65535, 65536, 131071, 199999 };
	char before[2 * FILE_DIGEST_SIZE + 1];

	for (off_t at = 0; at < 200000; at += 4)
		cr_assert_eq(pwrite(fd, "wxyz", 4, at), 4);
	strcpy(before, digest_of(fd));
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char byte;

		cr_assert_eq(pread(fd, &byte, 1, places[i]), 1);
		cr_assert_eq(pwrite(fd, "-", 1, places[i]), 1);
		cr_expect_str_neq(digest_of(fd), before, "%ld", (long)places[i]);
		cr_assert_eq(pwrite(fd, &byte, 1, places[i]), 1);
		cr_expect_str_eq(digest_of(fd), before);
	}
}

/* A gigabyte of nothing takes no second. */
Test(file_digest, is_not_of_holes)
{
	_cleanup_close_ int fd = memfd_create("digest", MFD_CLOEXEC);
	struct file_digest digest;

	cr_assert_eq(write(fd, "abc", 3), 3);
	cr_assert_eq(ftruncate(fd, 1 << 30), 0);
	cr_expect_eq(file_digest_read(fd, &digest), -EFBIG);
	cr_assert_eq(ftruncate(fd, (off_t)FILE_DIGEST_MAX + 1), 0);
	cr_expect_eq(file_digest_read(fd, &digest), -EFBIG);
	cr_assert_eq(ftruncate(fd, 4096), 0);
	cr_expect_eq(file_digest_read(fd, &digest), 0);
}

Test(file_digest, is_not_of_what_cannot_be_read)
{
	_cleanup_close_ int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int reference = open("/bin/sh", O_PATH | O_CLOEXEC);
	struct file_digest digest;

	cr_expect_eq(file_digest_read(directory, &digest), -EISDIR);
	cr_expect_eq(file_digest_read(reference, &digest), -EBADF);
	cr_expect_eq(file_digest_read(-1, &digest), -EBADF);
}
