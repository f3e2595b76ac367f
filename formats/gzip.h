/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_GZIP_H
#define DP_FORMATS_GZIP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

/* Compresses a file while it is written (RFC 1952). */
struct gzip {
	z_stream stream;
	FILE *to; /* owned by the caller */
	uint8_t out[16384];
};

/* 0 or -ENOMEM. After success, gzip_done() frees everything, finished or not. */
int gzip_init(struct gzip *gzip, FILE *to);
void gzip_done(struct gzip *gzip);

/* 0 or -errno. */
int gzip_write(struct gzip *gzip, const void *data, size_t size);
/* Writes the rest, without which the file is truncated. */
int gzip_finish(struct gzip *gzip);

#endif
