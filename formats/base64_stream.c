// SPDX-License-Identifier: Apache-2.0
#include "formats/base64_stream.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct base64_stream {
	FILE *to;
	unsigned char rest[3]; /* bytes are encoded in groups of three */
	size_t n_rest;
};

static bool put_three(struct base64_stream *s)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned int bits =
		(unsigned int)s->rest[0] << 16 | (unsigned int)s->rest[1] << 8 | s->rest[2];
	bool is_put = true;

	for (size_t i = 0; i < 4; i++)
		is_put &= fputc(i <= s->n_rest ? digits[bits >> (18 - 6 * i) & 63] : '=', s->to) !=
			  EOF;
	memset(s->rest, 0, sizeof(s->rest));
	s->n_rest = 0;
	return is_put;
}

static ssize_t base64_stream_write(void *cookie, const char *bytes, size_t n)
{
	struct base64_stream *s = cookie;
	bool is_put = true;

	for (size_t i = 0; i < n && is_put; i++) {
		s->rest[s->n_rest++] = (unsigned char)bytes[i];
		if (s->n_rest == sizeof(s->rest))
			is_put = put_three(s);
	}
	return is_put ? (ssize_t)n : 0;
}

static int base64_stream_close(void *cookie)
{
	_cleanup_free_ struct base64_stream *s = cookie;

	return s->n_rest == 0 || put_three(s) ? 0 : EOF;
}

FILE *base64_stream_open(FILE *to)
{
	cookie_io_functions_t functions = { .write = base64_stream_write,
					    .close = base64_stream_close };
	struct base64_stream *s = calloc(1, sizeof(*s));
	FILE *file;

	if (!s)
		return NULL;
	s->to = to;
	file = fopencookie(s, "w", functions);
	if (!file)
		free(s);
	return file;
}
