// SPDX-License-Identifier: Apache-2.0
#include "cache/disk_cache.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/write_all.h"

/* Bytes of a build id that are stored, in hex. */
#define BUILD_ID_BYTES 20

#define SUFFIX_NEW ".new" /* incomplete */

/*
 * The directory is scanned after each addition of this share of its limit, and shrunk by as much.
 */
#define BUDGET_SHARE 16

/* In seconds: files that were not used, or not completed, for this long are removed. */
#define MAX_AGE (30 * 24 * 3600)
#define MAX_AGE_NEW 3600

char *disk_cache_path(uid_t user, const char *xdg, const char *home)
{
	char *path;
	int n;

	if (user == 0)
		return strdup("/var/cache/dwarfprof");
	if (xdg && xdg[0] == '/')
		n = asprintf(&path, "%s/dwarfprof", xdg);
	else if (home && home[0] == '/')
		n = asprintf(&path, "%s/.cache/dwarfprof", home);
	else
		return NULL;
	return n < 0 ? NULL : path;
}

/* Makes a directory and its parents. Whether they exist is found out by opening it. */
static int make_directory(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(copy, 0700);
		*slash = '/';
	}
	mkdir(copy, 0700);
	return 0;
}

/* Directories and files that others can write to are not trusted, whoever owns them. */
static bool is_own(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Finds the build id in a notes segment, without reading past its end. */
static bool note_build_id(const uint8_t *at, size_t size, char *ret)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		size_t name = ((size_t)note->n_namesz + 3) & ~(size_t)3;
		size_t data = ((size_t)note->n_descsz + 3) & ~(size_t)3;

		if (name + data > size - sizeof(*note))
			return false;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof("GNU") &&
		    memcmp(at + sizeof(*note), "GNU", sizeof("GNU")) == 0) {
			for (size_t i = 0; i < note->n_descsz && i < BUILD_ID_BYTES; i++)
				sprintf(ret + 2 * i, "%02x", at[sizeof(*note) + name + i]);
			return true;
		}
		at += sizeof(*note) + name + data;
		size -= sizeof(*note) + name + data;
	}
	return false;
}

/* The first object is the program itself. */
static int read_maker(struct dl_phdr_info *info, size_t size, void *arg)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_NOTE &&
		    note_build_id((const uint8_t *)(info->dlpi_addr + segment->p_vaddr),
				  segment->p_memsz, arg))
			break;
	}
	return 1;
}

int disk_cache_open(const char *path, uint64_t limit, struct disk_cache *ret)
{
	struct disk_cache cache = { .limit = limit };
	_cleanup_close_ int fd = -1;
	struct stat st;
	int err;

	dl_iterate_phdr(read_maker, cache.maker);
	if (cache.maker[0] == '\0')
		return -ENOTSUP;
	err = make_directory(path);
	if (err < 0)
		return err;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!is_own(&st))
		return -EPERM;
	cache.fd = steal_fd(&fd);
	*ret = cache;
	return 0;
}

void disk_cache_close(struct disk_cache *cache)
{
	close(cache->fd);
	cache->fd = -1;
}

int disk_cache_open_file(const struct disk_cache *cache, const char *name, uint64_t *ret_size)
{
	/* Follows no links and does not block. */
	_cleanup_close_ int fd =
		openat(cache->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !is_own(&st))
		return -EPERM;
	if ((uint64_t)st.st_size > cache->limit / BUDGET_SHARE)
		return -EFBIG;
	*ret_size = (uint64_t)st.st_size;
	return steal_fd(&fd);
}

int disk_cache_read(int fd, void *to, size_t size, uint64_t from)
{
	while (size > 0) {
		ssize_t n = pread(fd, to, size, (off_t)from);

		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		to = (char *)to + n;
		size -= (size_t)n;
		from += (uint64_t)n;
	}
	return 0;
}

void disk_cache_used(int fd)
{
	futimens(fd, NULL);
}

/* A file of the directory. */
struct entry {
	char *name;
	time_t used;
	uint64_t size;
};

struct entries {
	struct entry *list;
	size_t n, size;
};

static void entries_done(struct entries *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->list[i].name);
	free(e->list);
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n > m && strcmp(name + n - m, suffix) == 0;
}

/* Those that were named by build id. */
static bool is_of_earlier_format(const char *name)
{
	return has_suffix(name, ".image") || has_suffix(name, ".places");
}

/* Adds a file to the list, or removes it if it is too old; other files are left alone. */
static int add_entry(const struct disk_cache *cache, const char *name, time_t now,
		     struct entries *e)
{
	bool is_new = has_suffix(name, SUFFIX_NEW), is_old = is_of_earlier_format(name);
	struct stat st;

	if (!is_new && !is_old && !has_suffix(name, DISK_CACHE_IMAGE) &&
	    !has_suffix(name, DISK_CACHE_LOCATIONS) && !has_suffix(name, DISK_CACHE_DIGEST))
		return 0;
	if (fstatat(cache->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
		return 0;
	if (is_old || st.st_mtim.tv_sec < now - (is_new ? MAX_AGE_NEW : MAX_AGE)) {
		unlinkat(cache->fd, name, 0);
		return 0;
	}
	if (array_reserve(e->list, e->n, e->size) < 0)
		return -ENOMEM;
	e->list[e->n].name = strdup(name);
	if (!e->list[e->n].name)
		return -ENOMEM;
	e->list[e->n].used = st.st_mtim.tv_sec;
	/* In whole pages, as on most disks. */
	e->list[e->n++].size = ((uint64_t)st.st_size + 4095) & ~UINT64_C(4095);
	return 0;
}

static int compare_use(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->used > y->used) - (x->used < y->used);
}

/*
 * Makes room for `size` bytes. Other processes may do the same: it is no error if a file is gone
 * already, and what they have added is seen next time. Uses a descriptor of its own, because the
 * position in a directory belongs to the descriptor.
 */
static int make_room(struct disk_cache *cache, uint64_t size)
{
	const uint64_t budget = cache->limit / BUDGET_SHARE;
	_cleanup_(entries_done) struct entries e = { 0 };
	_cleanup_close_ int fd = openat(cache->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const time_t now = time(NULL);
	uint64_t total = 0;
	struct dirent *d;

	if (!directory)
		return -errno;
	fd = -1;
	while ((d = readdir(directory))) {
		int err = add_entry(cache, d->d_name, now, &e);

		if (err < 0)
			return err;
	}
	for (size_t i = 0; i < e.n; i++)
		total += e.list[i].size;
	if (e.n > 0)
		qsort(e.list, e.n, sizeof(*e.list), compare_use);
	for (size_t i = 0; i < e.n && total > cache->limit - budget; i++) {
		unlinkat(cache->fd, e.list[i].name, 0);
		total -= e.list[i].size;
	}
	cache->budget = budget;
	return size <= budget ? 0 : -EFBIG;
}

/*
 * Writing beyond the limit on file sizes (RLIMIT_FSIZE) would send a signal that ends the program.
 */
static bool is_allowed(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && size <= limit.rlim_cur;
}

int disk_cache_put(struct disk_cache *cache, const char *name, const struct iovec *parts, size_t n)
{
	uint64_t number, whole = 0;
	char temporary[32];
	int fd, err = 0;

	for (size_t i = 0; i < n; i++)
		whole += parts[i].iov_len;
	whole = (whole + 4095) & ~UINT64_C(4095);
	if (!is_allowed(whole))
		return -EFBIG;
	if (whole > cache->budget)
		err = make_room(cache, whole);
	if (err == 0 && getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		err = -EAGAIN;
	if (err < 0)
		return err;
	snprintf(temporary, sizeof(temporary), "%016" PRIx64 SUFFIX_NEW, number);
	fd = openat(cache->fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; err == 0 && i < n; i++)
		err = write_all(fd, parts[i].iov_base, parts[i].iov_len);
	if (close(fd) < 0 && err == 0)
		err = -errno;
	if (err == 0 && renameat(cache->fd, temporary, cache->fd, name) < 0)
		err = -errno;
	if (err < 0)
		unlinkat(cache->fd, temporary, 0);
	else
		cache->budget -= whole;
	return err;
}
