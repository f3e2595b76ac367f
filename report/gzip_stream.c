// SPDX-License-Identifier: Apache-2.0
#include "gzip_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct gzip_stream {
	FILE *to;
	bool base64;
	z_stream z;
	unsigned char rest[3]; /* of base64, which goes by threes */
	size_t n_rest;
	unsigned char buffer[16384];
};

static void put_three(struct gzip_stream *s)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned int bits =
		(unsigned int)s->rest[0] << 16 | (unsigned int)s->rest[1] << 8 | s->rest[2];

	for (size_t i = 0; i < 4; i++)
		fputc(i <= s->n_rest ? digits[bits >> (18 - 6 * i) & 63] : '=', s->to);
	memset(s->rest, 0, sizeof(s->rest));
	s->n_rest = 0;
}

static void put_bytes(struct gzip_stream *s, size_t n)
{
	if (!s->base64) {
		fwrite(s->buffer, 1, n, s->to);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		s->rest[s->n_rest++] = s->buffer[i];
		if (s->n_rest == 3)
			put_three(s);
	}
}

static int deflate_all(struct gzip_stream *s, int flush)
{
	int result;

	do {
		s->z.next_out = s->buffer;
		s->z.avail_out = sizeof(s->buffer);
		result = deflate(&s->z, flush);
		put_bytes(s, sizeof(s->buffer) - s->z.avail_out);
	} while (result == Z_OK && (s->z.avail_out == 0 || flush == Z_FINISH));
	return ferror(s->to) ? -EIO : 0;
}

static ssize_t gzip_stream_write(void *cookie, const char *bytes, size_t n)
{
	struct gzip_stream *s = cookie;

	s->z.next_in = (z_const Bytef *)bytes;
	s->z.avail_in = (uInt)n;
	return deflate_all(s, Z_NO_FLUSH) == 0 ? (ssize_t)n : 0;
}

static int gzip_stream_close(void *cookie)
{
	struct gzip_stream *s = cookie;
	int err;

	s->z.avail_in = 0;
	err = deflate_all(s, Z_FINISH);
	if (s->n_rest > 0)
		put_three(s);
	deflateEnd(&s->z);
	free(s);
	errno = -err;
	return err;
}

int gzip_stream_open(FILE *to, bool base64, FILE **ret)
{
	cookie_io_functions_t functions = { .write = gzip_stream_write,
					    .close = gzip_stream_close };
	struct gzip_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->to = to;
	s->base64 = base64;
	/* 16 more than the largest window: with gzip's header (zlib.h, deflateInit2). */
	if (deflateInit2(&s->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(s);
		return -ENOMEM;
	}
	*ret = fopencookie(s, "w", functions);
	if (!*ret) {
		deflateEnd(&s->z);
		free(s);
		return -ENOMEM;
	}
	return 0;
}
