// SPDX-License-Identifier: Apache-2.0
#include "cache/digest.h"

#include <errno.h>
#include <nettle/version.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Stays in the CPU's cache between reading and hashing. */
#define CHUNK_SIZE (256 << 10)

struct digest digest_finish(struct sha256_ctx *ctx)
{
	struct digest digest;

#if NETTLE_VERSION_MAJOR >= 4
	sha256_digest(ctx, digest.bytes);
#else
	sha256_digest(ctx, sizeof(digest.bytes), digest.bytes);
#endif
	return digest;
}

struct digest digest_of(const void *bytes, size_t size)
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	digest_add(&ctx, bytes, size);
	return digest_finish(&ctx);
}

int digest_of_file(int fd, uint64_t size, const struct read_limit *limit, struct digest *ret)
{
	_cleanup_free_ char *chunk = malloc(CHUNK_SIZE);
	struct sha256_ctx ctx;
	uint64_t from = 0;

	if (!chunk)
		return -ENOMEM;
	sha256_init(&ctx);
	while (from < size) {
		size_t wanted = size - from < CHUNK_SIZE ? size - from : CHUNK_SIZE;
		int err = read_limit_check(limit);
		ssize_t n;

		if (err < 0)
			return err;
		n = pread(fd, chunk, wanted, (off_t)from);
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		digest_add(&ctx, chunk, (size_t)n);
		from += (uint64_t)n;
	}
	*ret = digest_finish(&ctx);
	return 0;
}
