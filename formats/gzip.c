// SPDX-License-Identifier: Apache-2.0
#include "formats/gzip.h"

#include <errno.h>
#include <limits.h>

/* Added to the window size, this requests gzip's header and checksum (zlib.h, deflateInit2()). */
#define GZIP_HEADER 16

int gzip_init(struct gzip *gzip, FILE *to)
{
	gzip->stream = (z_stream){ 0 };
	gzip->to = to;
	return deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
			    MAX_WBITS + GZIP_HEADER, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK ?
		       0 :
		       -ENOMEM;
}

void gzip_done(struct gzip *gzip)
{
	(void)deflateEnd(&gzip->stream);
}

/* Compresses the stream's input, and writes as much of it as `flush` requires. */
static int gzip_run(struct gzip *gzip, int flush)
{
	z_stream *stream = &gzip->stream;
	size_t n;

	do {
		stream->next_out = gzip->out;
		stream->avail_out = sizeof(gzip->out);
		if (deflate(stream, flush) == Z_STREAM_ERROR)
			return -EIO;
		n = sizeof(gzip->out) - stream->avail_out;
		if (fwrite(gzip->out, 1, n, gzip->to) != n)
			return errno ? -errno : -EIO;
	} while (stream->avail_out == 0);
	return 0;
}

int gzip_write(struct gzip *gzip, const void *data, size_t size)
{
	const uint8_t *from = data;
	int err = 0;

	while (err == 0 && size > 0) {
		size_t n = size < UINT_MAX ? size : UINT_MAX;

		gzip->stream.next_in = (Bytef *)from; /* zlib only reads it */
		gzip->stream.avail_in = (uInt)n;
		err = gzip_run(gzip, Z_NO_FLUSH);
		from += n;
		size -= n;
	}
	return err;
}

int gzip_finish(struct gzip *gzip)
{
	gzip->stream.next_in = NULL;
	gzip->stream.avail_in = 0;
	return gzip_run(gzip, Z_FINISH);
}
