// SPDX-License-Identifier: Apache-2.0
#include "elf/debug_search.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "elf/mapped_file.h"

bool debug_link_is_name(const char *name)
{
	return name[0] != '\0' && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

/* What a link in /proc refers to, as far as this is known without waiting for its server. */
static int stat_link(const char *path, struct stat *ret)
{
	_cleanup_close_ int place = open(path, O_PATH | O_CLOEXEC);

	return place < 0 ? -errno : file_stat(place, ret);
}

/* Whether a file of the process in /proc refers to something else than that of this one does. */
static bool differs(pid_t pid, const char *name)
{
	char path[48], own[32];
	struct stat st, ours;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	snprintf(own, sizeof(own), "/proc/self/%s", name);
	return stat_link(path, &st) == 0 && stat_link(own, &ours) == 0 &&
	       (st.st_dev != ours.st_dev || st.st_ino != ours.st_ino);
}

/* Whether the process has a different root or different mounts than this one. */
static bool has_other_root(pid_t pid)
{
	return differs(pid, "root") || differs(pid, "ns/mnt");
}

/*
 * Opens a file below a root that links cannot leave, or without any link on the way. Without openat2()
 * (Linux 5.6), finds none.
 */
static int open_below(int root, const char *path, bool links)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int place = -1;
	char link[32];

	how.resolve |= links ? 0 : RESOLVE_NO_SYMLINKS;
	how.resolve |= root >= 0 ? RESOLVE_IN_ROOT : 0;
	place = (int)syscall(SYS_openat2, root >= 0 ? root : AT_FDCWD, path, &how, sizeof(how));
	if (place < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	return regular_file_open(link, 0);
}

/* The policy of debug_search.h. */
static bool may_be_used(const struct debug_place *p, int fd, bool links)
{
	char magic[SELFMAG];
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return false;
	if (fs.f_type == FUSE_SUPER_MAGIC && st.st_dev != p->device)
		return false;
	if (st.st_uid != p->owner &&
	    (links || !(st.st_mode & S_IROTH) || (st.st_uid != 0 && st.st_uid != p->runner)))
		return false;
	return pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

int debug_place_open(const struct debug_place *p, int root)
{
	bool links = false;
	int fd = open_below(root, p->path, false);

	if (fd < 0) {
		links = !p->is_kept;
		fd = root < 0 ? regular_file_open(p->path, 0) : open_below(root, p->path, true);
	}
	if (fd < 0 || may_be_used(p, fd, links))
		return fd;
	close(fd);
	return -EACCES;
}

enum { BY_BUILD_ID, BESIDE, IN_DEBUG, BELOW_ROOT, N_PLACES };

/* The path of a place for the file at `path`. False: there is no such place. */
static bool place_path(unsigned int place, const struct debug_wanted *wanted, const char *path,
		       char *ret, size_t size)
{
	static const char *const around[N_PLACES][2] = {
		[BESIDE] = { "", "" },
		[IN_DEBUG] = { "", "/.debug" },
		[BELOW_ROOT] = { DEBUG_ROOT, "" },
	};
	const char *id = wanted->build_id, *slash = strrchr(path, '/');
	int n;

	if (place == BY_BUILD_ID) {
		if (strlen(id) < 4)
			return false;
		n = snprintf(ret, size, DEBUG_ROOT "/.build-id/%.2s/%s.debug", id, id + 2);
	} else {
		if (!slash || !wanted->link || !*wanted->link)
			return false;
		n = snprintf(ret, size, "%s%.*s%s/%s", around[place][0], (int)(slash - path), path,
			     around[place][1], wanted->link);
	}
	return n > 0 && (size_t)n < size;
}

/* Where to look. */
struct search {
	const struct debug_reader *reader;
	int root;     /* a directory, or -1: this process's own root */
	bool is_kept; /* DEBUG_ROOT there is root's */
	struct debug_place at;
};

static void begin(struct search *s, int fd)
{
	struct stat st = { 0 };

	if (fd >= 0)
		(void)file_stat(fd, &st);
	debug_place_init(&s->at, "", st.st_uid, st.st_dev);
	s->at.has_root = s->root >= 0;
}

static int search(struct search *s, const char *path, const struct debug_wanted *wanted)
{
	const struct debug_reader *r = s->reader;

	for (unsigned int i = 0; i < N_PLACES; i++) {
		int fd;

		if (!place_path(i, wanted, path, s->at.path, sizeof(s->at.path)))
			continue;
		s->at.is_kept = s->is_kept && (i == BY_BUILD_ID || i == BELOW_ROOT);
		fd = r->open ? r->open(r->arg, &s->at, s->root) : debug_place_open(&s->at, s->root);
		if (fd >= 0 && r->belongs(r->arg, fd, wanted))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -ENOENT;
}

void debug_place_init(struct debug_place *ret, const char *path, uid_t owner, dev_t device)
{
	*ret = (struct debug_place){
		.owner = owner,
		.runner = geteuid(),
		.device = device,
		.is_kept = strncmp(path, DEBUG_ROOT "/", strlen(DEBUG_ROOT "/")) == 0 &&
			   !strstr(path, "/.."),
	};
	snprintf(ret->path, sizeof(ret->path), "%s", path);
}

int debug_search(int fd, const struct debug_wanted *wanted, const struct debug_reader *reader)
{
	struct search s = { .reader = reader, .root = -1, .is_kept = true };
	char self[64], path[PATH_MAX];
	ssize_t n;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, path, sizeof(path) - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	begin(&s, fd);
	return search(&s, path[0] == '/' ? path : "", wanted);
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

int debug_search_process(pid_t pid, int fd, const char *path, const struct debug_wanted *wanted,
			 const struct debug_reader *reader)
{
	_cleanup_close_ int root = -1;
	struct search s = { .reader = reader };

	/* With servers to ask, libdwfl's search does not follow links (dwfl_file.c). */
	if (!has_other_root(pid) && !getenv("DEBUGINFOD_URLS"))
		return -ENOENT;
	root = process_root_open(pid);
	if (root < 0)
		return root;
	s.root = root;
	/* Who has another user namespace can mount what they like. */
	s.is_kept = !differs(pid, "ns/user");
	begin(&s, fd);
	return search(&s, path_inside(pid, path), wanted);
}
