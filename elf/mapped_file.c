// SPDX-License-Identifier: Apache-2.0
#include "elf/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"

int regular_file_open(const char *path, uint64_t inode)
{
	_cleanup_close_ int place = open(path, O_PATH | O_CLOEXEC);
	char link[32];
	struct stat st;
	int fd;

	if (place < 0 || fstat(place, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (inode != 0 && st.st_ino != inode))
		return -ESTALE;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	/* Not waiting for whoever holds a lease on the file, fcntl(2). */
	fd = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int mapped_file_open(pid_t pid, uint64_t start, uint64_t end, uint64_t inode, const char *name)
{
	char exact[64], inside[PATH_MAX + 64], program[64];
	const char *const paths[] = { exact, inside, program, name };
	bool refused = false;
	int fd = -ENOENT;

	/* Takes CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. */
	snprintf(exact, sizeof(exact), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, start, end);
	snprintf(inside, sizeof(inside), "/proc/%d/root%s", pid, name);
	/* The program itself can be had also when it was deleted. */
	snprintf(program, sizeof(program), "/proc/%d/exe", pid);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		fd = regular_file_open(paths[i], inode);
		if (fd >= 0)
			return fd;
		refused = refused || fd == -EACCES || fd == -EPERM;
	}
	/* The one way that would have led to it may be the one that was closed. */
	return refused ? -EACCES : fd;
}
