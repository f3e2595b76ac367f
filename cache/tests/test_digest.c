// SPDX-License-Identifier: Apache-2.0
/* SHA-256 of memory, in parts, and of files: the examples of FIPS 180-4. */
#include "cache/digest.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static void expect(struct digest digest, const char *wanted)
{
	char hex[2 * sizeof(digest) + 1];

	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hex + 2 * i, 3, "%02x", digest.bytes[i]);
	cr_assert_str_eq(hex, wanted);
}

#define OF_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define OF_A_MILLION "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

Test(digest, is_that_of_the_standard)
{
	struct sha256_ctx ctx;

	expect(digest_of("abc", 3), OF_ABC);
	sha256_init(&ctx);
	digest_add(&ctx, "a", 1);
	digest_add(&ctx, NULL, 0);
	digest_add(&ctx, "bc", 2);
	expect(digest_finish(&ctx), OF_ABC);
}

Test(digest, is_that_of_a_file)
{
	_cleanup_close_ int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	_cleanup_free_ char *bytes = malloc(1000000);
	atomic_bool stop = false;
	struct read_limit limit = { .stop = &stop, .until_ns = UINT64_MAX };
	struct digest digest;

	memset(bytes, 'a', 1000000);
	cr_assert(write(fd, bytes, 1000000) == 1000000);
	cr_assert_eq(digest_of_file(fd, 1000000, &limit, &digest), 0);
	expect(digest, OF_A_MILLION);
	cr_assert_eq(digest_of_file(fd, 1000001, NULL, &digest), -EBADMSG);
	cr_assert_eq(digest_of_file(-1, 1, NULL, &digest), -EBADF);
	limit.until_ns = read_limit_now_ns();
	cr_assert_eq(digest_of_file(fd, 1000000, &limit, &digest), -ETIMEDOUT);
	stop = true;
	cr_assert_eq(digest_of_file(fd, 1000000, &limit, &digest), -ECANCELED);
}
