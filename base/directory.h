/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_DIRECTORY_H
#define DP_BASE_DIRECTORY_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Opens a directory in another one. Returns NULL with errno set on failure. */
static inline DIR *directory_open_at(int parent, const char *name, int more_flags)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | more_flags);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int err = errno;

	if (!dir && fd >= 0)
		close(fd);
	errno = err;
	return dir;
}

/* Returns the next entry. NULL: *ret_err is 0 at the end, and a negative errno if it cannot be read. */
static inline const struct dirent *directory_next(DIR *dir, int *ret_err)
{
	const struct dirent *entry;

	errno = 0;
	entry = readdir(dir);
	*ret_err = entry ? 0 : -errno;
	return entry;
}

#endif
