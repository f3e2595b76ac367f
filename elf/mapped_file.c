// SPDX-License-Identifier: Apache-2.0
#include "elf/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file_stat.h"

int file_reopen(int fd)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	/* O_NONBLOCK: do not wait for the holder of a lease on the file, fcntl(2). */
	fd = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool file_is_reference(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_PATH);
}

/*
 * Checks that this is a regular file with this inode (0: any). Takes over `place` and returns it,
 * or a negative errno.
 */
static int check_place(int place, uint64_t inode)
{
	_cleanup_close_ int own = place;
	struct stat st;
	int err;

	if (place < 0)
		return place;
	err = file_stat(place, &st);
	if (err < 0)
		return err;
	if (!S_ISREG(st.st_mode) || (inode != 0 && st.st_ino != inode))
		return -ESTALE;
	return steal_fd(&own);
}

static int find_path(const char *path, uint64_t inode)
{
	int place = open(path, O_PATH | O_CLOEXEC);

	return check_place(place < 0 ? -errno : place, inode);
}

int regular_file_open(const char *path, uint64_t inode)
{
	_cleanup_close_ int place = find_path(path, inode);

	return place < 0 ? place : file_reopen(place);
}

int rooted_file_open(int root, const char *path, uint64_t inode)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int found = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	_cleanup_close_ int place = check_place(found < 0 ? -errno : found, inode);
	char inside[PATH_MAX + 32];

	/* A sandbox may not know the system call. The inode tells whether links have led astray. */
	if (place == -ENOSYS) {
		snprintf(inside, sizeof(inside), "/proc/self/fd/%d/%s", root, path);
		place = find_path(inside, inode);
	}
	return place < 0 ? place : file_reopen(place);
}

static int find_below(int root, const char *path, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = resolve | (root >= 0 ? RESOLVE_IN_ROOT : 0),
	};
	int place = (int)syscall(SYS_openat2, root >= 0 ? root : AT_FDCWD, path, &how, sizeof(how));

	return place < 0 ? -errno : place;
}

int linkless_file_open(int root, const char *path, uint64_t inode)
{
	_cleanup_close_ int place = check_place(find_below(root, path, RESOLVE_NO_SYMLINKS), inode);

	/* Old filters of containers refuse system calls that they do not know. */
	if (place == -ENOSYS || place == -EPERM)
		return -ELOOP;
	return place < 0 ? place : file_reopen(place);
}

int cached_file_find(int root, const char *path, uint64_t inode)
{
	return check_place(find_below(root, path, RESOLVE_CACHED), inode);
}

/* Cuts off the last name. False: there is none left. */
static bool cut_name(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || path[1] == '\0')
		return false;
	*(slash > path ? slash : slash + 1) = '\0';
	return true;
}

dev_t cached_file_device(int root, const char *path)
{
	char left[PATH_MAX];
	struct stat st;

	if ((size_t)snprintf(left, sizeof(left), "%s", path) >= sizeof(left))
		return 0;
	do {
		_cleanup_close_ int place =
			find_below(root, left, RESOLVE_CACHED | RESOLVE_NO_SYMLINKS);

		if (place >= 0)
			return file_stat(place, &st) == 0 ? st.st_dev : 0;
	} while (cut_name(left));
	return 0;
}

/* The ways to find a mapped file, best first. */
enum way { WAY_MAPPING, WAY_ROOT, WAY_PROGRAM, WAY_NAME, N_WAYS };

struct ways {
	char mapping[64]; /* needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE */
	char root[32];    /* for the file's name in the process's root */
	char program[32]; /* works for the program itself even if it was deleted */
	const char *name;
};

static void list_ways(struct ways *ret, pid_t pid, uint64_t start, uint64_t end, const char *name)
{
	snprintf(ret->mapping, sizeof(ret->mapping), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
		 start, end);
	snprintf(ret->root, sizeof(ret->root), "/proc/%d/root", pid);
	snprintf(ret->program, sizeof(ret->program), "/proc/%d/exe", pid);
	ret->name = name;
}

/* Finds the file in one way; may wait. */
static int find_by(const struct ways *w, enum way way, uint64_t inode)
{
	char inside[PATH_MAX + 64];

	switch (way) {
	case WAY_MAPPING:
		return find_path(w->mapping, inode);
	case WAY_ROOT:
		snprintf(inside, sizeof(inside), "%s%s", w->root, w->name);
		return find_path(inside, inode);
	case WAY_PROGRAM:
		return find_path(w->program, inode);
	default:
		return find_path(w->name, inode);
	}
}

static int open_root(const char *path)
{
	int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : root;
}

int process_root_open(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	return open_root(path);
}

/*
 * Looks a path up in the kernel's cache only: RESOLVE_CACHED, Linux 5.12. The path of a mapped file
 * is in the cache while the file has this name.
 */
static int find_cached(int directory, const char *path, uint64_t resolve, uint64_t inode)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = resolve | RESOLVE_CACHED };
	int place = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));

	if (place < 0 && (errno == ENOSYS || errno == EINVAL))
		return -EAGAIN;
	return check_place(place < 0 ? -errno : place, inode);
}

static int find_in_root(const struct ways *w, uint64_t inode)
{
	_cleanup_close_ int root = open_root(w->root);

	return root < 0 ? root : find_cached(root, w->name, RESOLVE_IN_ROOT, inode);
}

/*
 * The kernel's own links in /proc refer to a file, not to its name, so following them never waits.
 */
static int find_now_by(const struct ways *w, enum way way, uint64_t inode)
{
	if (way == WAY_ROOT)
		return find_in_root(w, inode);
	if (way == WAY_NAME)
		return find_cached(AT_FDCWD, w->name, 0, inode);
	return find_by(w, way, inode);
}

int mapped_file_open(pid_t pid, uint64_t start, uint64_t end, uint64_t inode, const char *name)
{
	bool refused = false;
	int fd = -ENOENT;
	struct ways w;

	list_ways(&w, pid, start, end, name);
	for (enum way way = 0; way < N_WAYS; way++) {
		_cleanup_close_ int place = find_by(&w, way, inode);

		fd = place < 0 ? place : file_reopen(place);
		if (fd >= 0)
			return fd;
		refused = refused || fd == -EACCES || fd == -EPERM;
	}
	/* The way that was refused may have been the only one to lead to it. */
	return refused ? -EACCES : fd;
}

int mapped_file_find(pid_t pid, uint64_t start, uint64_t end, uint64_t inode, const char *name)
{
	bool refused = false, unknown = false;
	int place = -ENOENT;
	struct ways w;

	list_ways(&w, pid, start, end, name);
	for (enum way way = 0; way < N_WAYS; way++) {
		place = find_now_by(&w, way, inode);
		if (place >= 0)
			return place;
		refused = refused || place == -EACCES || place == -EPERM;
		unknown = unknown || place == -EAGAIN;
	}
	if (unknown)
		return -EAGAIN;
	return refused ? -EACCES : place;
}

int mapped_file_find_named(pid_t pid, uint64_t inode, const char *name)
{
	struct ways w;
	int place, program;

	list_ways(&w, pid, 0, 0, name);
	place = find_in_root(&w, inode);
	if (place >= 0)
		return place;
	program = find_by(&w, WAY_PROGRAM, inode);
	if (program >= 0)
		return program;
	/* It has ended; others find it here. */
	return program == -ENOENT || program == -ESRCH ? find_now_by(&w, WAY_NAME, inode) : -EAGAIN;
}

bool mapped_file_is_refused(pid_t pid, uint64_t start, uint64_t end)
{
	_cleanup_close_ int place = -1;
	struct ways w;

	list_ways(&w, pid, start, end, "");
	place = find_by(&w, WAY_MAPPING, 0);
	return place == -EACCES || place == -EPERM;
}

int mapped_file_find_program(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return find_path(path, 0);
}
