/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CACHE_FILE_DIGEST_H
#define DP_CACHE_FILE_DIGEST_H

#include <stdint.h>

#define FILE_DIGEST_SIZE 32

/* The SHA-256 (FIPS 180-4) of all bytes of a file. */
struct file_digest {
	uint8_t bytes[FILE_DIGEST_SIZE];
};

/*
 * Reads a file from its start to its end, whatever the descriptor's position is. 0; -EFBIG if it is too
 * large, or mostly holes, which cost its owner nothing; or another negative errno.
 */
int file_digest_read(int fd, struct file_digest *ret);

/* Another way to get a digest; `arg` is its own. Errors as above, and its own. */
typedef int (*file_digest_fn)(void *arg, int fd, struct file_digest *ret);

#endif
