/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_SECRET_H
#define DP_BASE_SECRET_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* What stands for a secret where others may read. */
#define SECRET_MASK "***"

/*
 * Returns a copy of a URL, which need not be valid, with user, password and query masked, as queries may have keys.
 * NULL: out of memory. The caller frees it.
 */
static inline char *secret_mask_url(const char *url)
{
	const char *scheme = strstr(url, "://"), *rest = scheme ? scheme + strlen("://") : url;
	size_t n = strcspn(rest, "?#");
	const char *query = rest + n, *at = strrchr(rest, '@');
	/* Behind the query's sign it may belong to a password as well. */
	const char *from = at && at < query ? at + 1 : rest;
	char *text;
	int size;

	if (at && at > query)
		size = asprintf(&text, "%.*s" SECRET_MASK, (int)(rest - url), url);
	else
		size = asprintf(&text, "%.*s%s%.*s%s", (int)(rest - url), url,
				at ? SECRET_MASK "@" : "", (int)(query - from), from,
				*query ? "?" SECRET_MASK : "");
	return size < 0 ? NULL : text;
}

/*
 * Reads the first line of a file, cut to the size. It may be replaced at any time, and is empty for a moment
 * then: -ENODATA. 0 or a negative errno. The caller wipes the line; no buffer of stdio's keeps it.
 */
static inline int secret_read_line(const char *path, char *ret, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = 1;

	if (fd < 0)
		return -errno;
	while (got > 0 && n < size - 1 && !memchr(ret, '\n', n)) {
		got = read(fd, ret + n, size - 1 - n);
		n += got > 0 ? (size_t)got : 0;
	}
	if (got < 0)
		return -errno;
	ret[n] = '\0';
	ret[strcspn(ret, "\r\n")] = '\0';
	return *ret ? 0 : -ENODATA;
}

#endif
