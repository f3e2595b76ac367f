// SPDX-License-Identifier: Apache-2.0
#include "formats/gzip_stream.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "formats/gzip.h"

static ssize_t gzip_stream_write(void *cookie, const char *bytes, size_t n)
{
	int err = gzip_write(cookie, bytes, n);

	errno = -err;
	return err == 0 ? (ssize_t)n : 0;
}

static int gzip_stream_close(void *cookie)
{
	_cleanup_free_ struct gzip *gzip = cookie;
	int err = gzip_finish(gzip);

	gzip_done(gzip);
	errno = -err;
	return err == 0 ? 0 : EOF;
}

FILE *gzip_stream_open(FILE *to)
{
	cookie_io_functions_t functions = { .write = gzip_stream_write,
					    .close = gzip_stream_close };
	_cleanup_free_ struct gzip *gzip = calloc(1, sizeof(*gzip));
	FILE *file;

	if (!gzip || gzip_init(gzip, to) < 0)
		return NULL;
	file = fopencookie(gzip, "w", functions);
	if (file)
		steal_ptr(gzip);
	else
		gzip_done(gzip);
	return file;
}
