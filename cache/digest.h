/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CACHE_DIGEST_H
#define DP_CACHE_DIGEST_H

#include <nettle/sha2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/read_limit.h"

/* SHA-256: nobody can make other bytes that have the digest of given ones. */
struct digest {
	uint8_t bytes[SHA256_DIGEST_SIZE];
};

/* Digest of bytes in parts: sha256_init(), digest_add(), digest_finish(). */
static inline void digest_add(struct sha256_ctx *ctx, const void *bytes, size_t size)
{
	sha256_update(ctx, size, bytes);
}

struct digest digest_finish(struct sha256_ctx *ctx);

/* The digest of a block of memory. */
struct digest digest_of(const void *bytes, size_t size);

/*
 * The digest of a file's first `size` bytes. Returns 0, -EBADMSG if it is shorter, an errno of
 * read_limit_check(), or another negative one.
 */
int digest_of_file(int fd, uint64_t size, const struct read_limit *limit, struct digest *ret);

#endif
