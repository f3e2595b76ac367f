/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_WRITE_ALL_H
#define DP_BASE_WRITE_ALL_H

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* Writes all of it, however often write(2) has to be called. 0 or a negative errno. */
static inline int write_all(int fd, const void *bytes, size_t size)
{
	const char *next = bytes;

	while (size > 0) {
		ssize_t n = write(fd, next, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		next += n;
		size -= (size_t)n;
	}
	return 0;
}

#endif
