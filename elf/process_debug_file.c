// SPDX-License-Identifier: Apache-2.0
#include "elf/process_debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/debug_file.h"
#include "elf/elf_open.h"
#include "elf/mapped_file.h"

/* Whether the process has a different root or different mounts than this one. */
static bool has_other_root(pid_t pid)
{
	static const char *const names[] = { "root/", "ns/mnt" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[48], own[32];
		struct stat st, ours;

		snprintf(path, sizeof(path), "/proc/%d/%s", pid, names[i]);
		snprintf(own, sizeof(own), "/proc/self/%s", names[i]);
		if (stat(path, &st) == 0 && stat(own, &ours) == 0 &&
		    (st.st_dev != ours.st_dev || st.st_ino != ours.st_ino))
			return true;
	}
	return false;
}

/* Opens a file below a root that links cannot leave. Without openat2() (Linux 5.6), finds none. */
static int open_below(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int place = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	char link[32];

	if (place < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	return regular_file_open(link, 0);
}

/* Identifies files by build id, or by the link's checksum if there is none. */
static bool belongs(int fd, const char *build_id, uint32_t wanted)
{
	_cleanup_elf_ Elf *elf = elf_open(fd);

	return elf && (build_id[0] ? debug_file_has_build_id(elf, build_id) :
				     debug_file_has_checksum(elf, wanted));
}

static int open_link_below(int root, const char *path, const struct elf_file *file)
{
	static const char *const places[][2] = { { "", "" },
						 { "", "/.debug" },
						 { DEBUG_ROOT, "" } };
	const char *name = file->debug_link;
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; name && slash && i < sizeof(places) / sizeof(*places); i++) {
		char place[2 * PATH_MAX];
		int fd;

		snprintf(place, sizeof(place), "%s%.*s%s/%s", places[i][0], (int)(slash - path),
			 path, places[i][1], name);
		fd = open_below(root, place);
		if (fd >= 0 && belongs(fd, file->build_id, file->debug_link_checksum))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -ENOENT;
}

/* Paths are as this process sees them, and include the other's root if that is below its own. */
static const char *path_inside(pid_t pid, const char *path)
{
	char place[48], root[PATH_MAX];
	ssize_t n;

	snprintf(place, sizeof(place), "/proc/%d/root", pid);
	n = readlink(place, root, sizeof(root) - 1);
	if (n <= 1)
		return path;
	root[n] = '\0';
	return strncmp(path, root, (size_t)n) == 0 && path[n] == '/' ? path + n : path;
}

int process_debug_file_open(pid_t pid, const char *path, const struct elf_file *file)
{
	const char *build_id = file->build_id;
	_cleanup_close_ int root = -1;
	char place[PATH_MAX];
	int fd = -ENOENT;

	/* With servers to ask, libdwfl's search does not follow links (dwfl_file.c). */
	if (!has_other_root(pid) && !getenv("DEBUGINFOD_URLS"))
		return -ENOENT;
	snprintf(place, sizeof(place), "/proc/%d/root", pid);
	root = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	if (strlen(build_id) >= 4) {
		snprintf(place, sizeof(place), DEBUG_ROOT "/.build-id/%.2s/%s.debug", build_id,
			 build_id + 2);
		fd = open_below(root, place);
	}
	if (fd >= 0 && belongs(fd, build_id, 0))
		return fd;
	if (fd >= 0)
		close(fd);
	return open_link_below(root, path_inside(pid, path), file);
}
