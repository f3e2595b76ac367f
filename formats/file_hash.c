// SPDX-License-Identifier: Apache-2.0
#include "formats/file_hash.h"

#include <endian.h>
#include <errno.h>
#include <nettle/sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file_stat.h"

#define END_SIZE 4096

static int hash_part(struct sha256_ctx *sha, int fd, off_t at)
{
	uint8_t bytes[END_SIZE];
	ssize_t n = pread(fd, bytes, sizeof(bytes), at);

	if (n < 0)
		return -errno;
	sha256_update(sha, (size_t)n, bytes);
	return 0;
}

int file_hash(int fd, char ret[FILE_HASH_SIZE])
{
	uint8_t digest[FILE_HASH_SIZE / 2];
	struct sha256_ctx sha;
	struct stat st;
	uint64_t length;
	int err = file_stat(fd, &st);

	if (err < 0)
		return err;
	sha256_init(&sha);
	err = hash_part(&sha, fd, 0);
	if (err == 0)
		err = hash_part(&sha, fd, st.st_size > END_SIZE ? st.st_size - END_SIZE : 0);
	if (err < 0)
		return err;
	length = htobe64((uint64_t)st.st_size);
	sha256_update(&sha, sizeof(length), (const uint8_t *)&length);
	sha256_digest(&sha, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(ret + 2 * i, 3, "%02x", digest[i]);
	return 0;
}
