// SPDX-License-Identifier: Apache-2.0
#include "cache/file_digest.h"

#include <assert.h>
#include <errno.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "limits/limits.h"

static_assert(FILE_DIGEST_SIZE == SHA256_DIGEST_SIZE, "one is a whole SHA-256");

#define PART_SIZE (64 << 10)
/* Of st_blocks, stat(2); and what file systems that compress save at most. */
#define BLOCK_SIZE 512
#define MAX_COMPRESSION 16

static int check_size(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	return (uint64_t)st.st_size > FILE_DIGEST_MAX ||
			       st.st_size / MAX_COMPRESSION > (st.st_blocks + 8) * BLOCK_SIZE ?
		       -EFBIG :
		       0;
}

int file_digest_read(int fd, struct file_digest *ret)
{
	uint8_t part[PART_SIZE];
	struct sha256_ctx sha;
	uint64_t at = 0;
	int err = check_size(fd);

	if (err < 0)
		return err;
	sha256_init(&sha);
	/* It may grow meanwhile. */
	while (at <= FILE_DIGEST_MAX) {
		ssize_t n = pread(fd, part, sizeof(part), (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			sha256_digest(&sha, sizeof(ret->bytes), ret->bytes);
			return 0;
		}
		sha256_update(&sha, (size_t)n, part);
		at += (uint64_t)n;
	}
	return -EFBIG;
}
