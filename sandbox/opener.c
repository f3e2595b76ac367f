// SPDX-License-Identifier: Apache-2.0
#include "sandbox/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "bpf/arch.h"
#include "elf/debug_search.h"
#include "elf/mapped_file.h"
#include "log/clock.h"
#include "log/log.h"
#include "sandbox/finders.h"
#include "sandbox/namer.h"

/* Build ids of the longest kind that is known are half as long. */
#define MAX_BUILD_ID 64

void opener_open_self(int ends[OPENER_N_ENDS])
{
	ends[OPENER_MEMORY] = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ends[OPENER_MAPPINGS] = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
}

void opener_close(int ends[OPENER_N_ENDS])
{
	for (size_t i = 0; i < OPENER_N_ENDS; i++) {
		if (ends[i] >= 0)
			close(ends[i]);
		ends[i] = -1;
	}
}

/*
 * Reading memory that is mapped from a file waits for the file's server, which may be the helper's
 * target. The helper has only one thread, which waits, so mappings do not change.
 */
static bool is_in_memory(int mappings, uint64_t address)
{
	int copy = lseek(mappings, 0, SEEK_SET) == 0 ? fcntl(mappings, F_DUPFD_CLOEXEC, 0) : -1;
	_cleanup_fclose_ FILE *file = copy < 0 ? NULL : fdopen(copy, "r");
	_cleanup_free_ char *line = NULL;
	uint64_t start, end, inode;
	size_t size = 0;

	if (copy >= 0 && !file)
		close(copy);
	while (file && getline(&line, &size, file) > 0)
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %" SCNu64, &start, &end,
			   &inode) == 3 &&
		    address >= start && address < end)
			return inode == 0;
	return false;
}

/* Page by page: the next one need not exist. */
static bool read_path(const struct opener *o, uint64_t address, char ret[PATH_MAX])
{
	size_t have = 0;

	while (have < PATH_MAX) {
		size_t n = DP_USER_PAGE_SIZE - (address + have) % DP_USER_PAGE_SIZE;
		ssize_t got;

		if (!is_in_memory(o->ends[OPENER_MAPPINGS], address + have))
			return false;
		n = n < PATH_MAX - have ? n : PATH_MAX - have;
		got = pread(o->ends[OPENER_MEMORY], ret + have, n, (off_t)(address + have));
		if (got <= 0)
			return false;
		if (memchr(ret + have, '\0', (size_t)got))
			return true;
		have += (size_t)got;
	}
	return false;
}

static int fetch(const struct opener *o, const char *hex)
{
	unsigned char build_id[MAX_BUILD_ID];
	size_t n = strspn(hex, "0123456789abcdef") / 2;

	if (n == 0 || n > MAX_BUILD_ID || hex[2 * n] != '\0')
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		sscanf(hex + 2 * i, "%2hhx", &build_id[i]);
	n = (size_t)o->fetch(o->arg, build_id, n);
	return (int)n < 0 ? -ENOENT : (int)n;
}

static int look_up(struct opener *o, const char *path)
{
	uint64_t began = clock_now_ns();
	struct debug_place place;
	int fd;

	debug_place_init(&place, path, o->user, o->device);
	fd = finders_open_debug(o->finders, o->asker, &place, -1);
	o->waited_ns += clock_now_ns() - began;
	return fd;
}

static int open_file(struct opener *o, const char *path)
{
	bool is_server = strncmp(path, NAMER_SERVER, strlen(NAMER_SERVER)) == 0;
	_cleanup_close_ int fd = -1;
	struct stat st;
	int err;

	/* A relative one would be relative to where dwarfprof was started, by chance. */
	if (path[0] != '/' || strcmp(path, o->own_path) == 0)
		return -ENOENT;
	fd = is_server ? fetch(o, path + strlen(NAMER_SERVER)) : look_up(o, path);
	if (fd == -EACCES) {
		o->n_forbidden++;
		log_debug("%s is not read: it is no ELF file, or another user's", path);
		return -ENOENT; /* libdw looks on */
	}
	if (fd == -ETIMEDOUT || fd == -EBUSY) /* likewise */
		return -ENOENT;
	if (fd < 0)
		return fd;
	err = file_stat(fd, &st);
	if (err < 0)
		return err;
	if (st.st_dev == o->own_device && st.st_ino == o->own_inode)
		return -ENOENT;
	o->opened += (uint64_t)st.st_size;
	return steal_fd(&fd);
}

void opener_note_foreign(struct opener *o, int fd)
{
	o->has_foreign = true;
	o->foreign_device = file_device(fd);
}

/* Puts the file into the helper. Returns its descriptor there or a negative errno. */
static int pass(struct opener *o, uint64_t id, int fd)
{
	uint64_t began = clock_now_ns();
	int there;

	if (!file_is_reference(fd))
		return opener_add(o->ends[OPENER_LISTENER], id, fd);
	opener_note_foreign(o, fd);
	there = finders_add(o->finders, o->asker, fd, o->ends[OPENER_LISTENER], id);
	o->waited_ns += clock_now_ns() - began;
	return there;
}

int opener_add(int listener, uint64_t id, int fd)
{
	struct seccomp_notif_addfd add = {
		.id = id,
		.srcfd = (uint32_t)fd,
		.newfd_flags = O_CLOEXEC,
	};
	int there = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

	return there < 0 ? -errno : there;
}

void opener_answer(struct opener *o)
{
	struct seccomp_notif request = { 0 };
	struct seccomp_notif_resp response = { 0 };
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	int there = -EACCES;

	if (ioctl(o->ends[OPENER_LISTENER], SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		return;
	/* The helper may have ended. */
	if (read_path(o, request.data.args[1], path) &&
	    ioctl(o->ends[OPENER_LISTENER], SECCOMP_IOCTL_NOTIF_ID_VALID, &request.id) == 0) {
		there = fd = open_file(o, path);
		if (fd >= 0)
			there = pass(o, request.id, fd);
	}
	response.id = request.id;
	if (there < 0)
		response.error = there;
	else
		response.val = there;
	(void)ioctl(o->ends[OPENER_LISTENER], SECCOMP_IOCTL_NOTIF_SEND, &response);
}
