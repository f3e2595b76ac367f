// SPDX-License-Identifier: Apache-2.0
#include "image_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "image_file.h"
#include "log.h"

#define SUFFIX ".image"
#define SUFFIX_NEW ".new" /* being written */

/* Unwind information of less than this is made into an image as fast as that is read. */
#define MIN_SOURCE_SIZE 4096

/* The directory is looked through when this part of its limit was added, and left that much smaller. */
#define BUDGET_SHARE 16

/* Seconds after which what was not used, or not finished, is removed. */
#define MAX_AGE (30 * 24 * 3600)
#define MAX_AGE_NEW 3600

/* A file system's clock ticks: in this time, in seconds, a change may not show in the ctime. */
#define SETTLE_TIME 2

/* Fits a build id, an inode and a version. */
#define NAME_SIZE 128

char *image_cache_path(uid_t user, const char *xdg, const char *home)
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

/* Make a directory and those above it. That they are there already is found out by opening it. */
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

/* What others can write to is not believed, whoever owns it. */
static bool is_own(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The build id of the program that runs. */
static int read_maker(char *ret)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file self;
	int err = fd < 0 ? -errno : elf_file_init_fd(&self, fd);

	if (err < 0)
		return err;
	memcpy(ret, self.build_id, sizeof(self.build_id));
	elf_file_done(&self);
	return ret[0] ? 0 : -ENOTSUP;
}

int image_cache_open(const char *path, uint64_t limit, struct image_cache *ret)
{
	struct image_cache cache = { .limit = limit };
	_cleanup_close_ int fd = -1;
	struct stat st;
	int err = read_maker(cache.maker);

	if (err == 0)
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

struct image_cache *image_cache_open_default(struct image_cache *ret)
{
	_cleanup_free_ char *path =
		image_cache_path(geteuid(), getenv("XDG_CACHE_HOME"), getenv("HOME"));
	int err = path ? image_cache_open(path, IMAGE_CACHE_LIMIT, ret) : -ENOENT;

	if (err < 0) {
		log_debug("no cache in %s: %s", path ? path : "any place", strerror(-err));
		return NULL;
	}
	log_debug("tables are kept in %s", path);
	return ret;
}

void image_cache_close(struct image_cache *cache)
{
	close(cache->fd);
	cache->fd = -1;
}

static uint64_t nanoseconds(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

/* Does someone behind the file system say what numbers and times files have? */
static bool is_told_by_others(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	switch ((uint32_t)fs.f_type) {
	case FUSE_SUPER_MAGIC:
	case NFS_SUPER_MAGIC:
	case CIFS_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
	case V9FS_MAGIC:
		return true;
	default:
		return false;
	}
}

/* What the image is made of, and the name of its file. False: it is not to be kept. */
static bool describe(const struct image_cache *cache, const struct elf_file *file, int fd,
		     struct image_origin *ret, char *ret_name)
{
	struct timespec now;
	struct stat st;

	if (fd < 0 || file->build_id[0] == '\0' || file->cfi.size < MIN_SOURCE_SIZE ||
	    file->source == ELF_SOURCE_DEBUG_FILE || is_told_by_others(fd))
		return false;
	if (fstat(fd, &st) < 0 || clock_gettime(CLOCK_REALTIME, &now) < 0 ||
	    st.st_ctim.tv_sec + SETTLE_TIME >= now.tv_sec)
		return false;
	*ret = (struct image_origin){
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.mtime_ns = nanoseconds(&st.st_mtim),
		.ctime_ns = nanoseconds(&st.st_ctim),
		.cfi_address = file->cfi.address,
		.cfi_size = file->cfi.size,
		.cfi_source = file->source,
		.start = file->code.start,
		.end = file->code.end,
		.entry = file->code.entry,
	};
	static_assert(IMAGE_BUILD_ID_SIZE >= ELF_BUILD_ID_SIZE, "a build id has room");
	snprintf(ret->maker, sizeof(ret->maker), "%s", cache->maker);
	snprintf(ret->build_id, sizeof(ret->build_id), "%s", file->build_id);
	snprintf(ret_name, NAME_SIZE, "%s-%" PRIx64 "-v%d" SUFFIX, ret->build_id, ret->inode,
		 DP_IMAGE_VERSION);
	return true;
}

static int read_all(int fd, void *to, size_t size, off_t from)
{
	while (size > 0) {
		ssize_t n = pread(fd, to, size, from);

		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		to = (char *)to + n;
		size -= (size_t)n;
		from += n;
	}
	return 0;
}

/*
 * A file of the cache. Its bytes are copied before they are checked: whoever may
 * write to it could change them later.
 */
static int get(const struct image_cache *cache, const char *name, const struct image_origin *origin,
	       struct image *ret)
{
	/* No link is followed, nothing waited for. */
	_cleanup_close_ int fd =
		openat(cache->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	_cleanup_free_ uint64_t *cells = NULL;
	struct image_file head;
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !is_own(&st))
		return -EPERM;
	if ((uint64_t)st.st_size > cache->limit / BUDGET_SHARE)
		return -EFBIG;
	err = read_all(fd, &head, sizeof(head), 0);
	if (err < 0)
		return err;
	if (!image_file_is_of(&head, origin, (uint64_t)st.st_size))
		return -ESTALE;
	cells = malloc((size_t)head.n_cells * DP_CELL_SIZE);
	if (!cells)
		return -ENOMEM;
	err = read_all(fd, cells, (size_t)head.n_cells * DP_CELL_SIZE, sizeof(head));
	if (err == 0)
		err = image_file_take(&head, cells, ret);
	if (err < 0)
		return err;
	cells = NULL;
	futimens(fd, NULL); /* used now: the one that is unused for longest goes first */
	return 0;
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

/* Add a file to the list, or remove it if it is too old; what is not ours is left alone. */
static int add_entry(const struct image_cache *cache, const char *name, time_t now,
		     struct entries *e)
{
	bool is_new = has_suffix(name, SUFFIX_NEW);
	struct stat st;

	if (!is_new && !has_suffix(name, SUFFIX))
		return 0;
	if (fstatat(cache->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
		return 0;
	if (st.st_mtim.tv_sec < now - (is_new ? MAX_AGE_NEW : MAX_AGE)) {
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
 * Make room for `size` bytes. Others may do the same: what one of them has removed is no
 * error, and what they have added is seen the next time. A descriptor of its
 * own, as a position in a directory belongs to the descriptor.
 */
static int make_room(struct image_cache *cache, uint64_t size)
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

static int write_all(int fd, const void *from, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, from, size);

		if (n < 0)
			return -errno;
		from = (const char *)from + n;
		size -= (size_t)n;
	}
	return 0;
}

/* A signal, which ends the program, comes with what would make a file longer than this. */
static bool is_allowed(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && size <= limit.rlim_cur;
}

/*
 * Keep an image. It gets its name when it is whole. It is not waited for that
 * it reaches the disk (fsync): after a power cut the file may have its name and not
 * all of its bytes, which its sum tells.
 */
static int put(struct image_cache *cache, const char *name, const struct image_origin *origin,
	       const struct image *image)
{
	const size_t size = (size_t)image->n_cells * DP_CELL_SIZE;
	uint64_t number, whole = (sizeof(struct image_file) + size + 4095) & ~UINT64_C(4095);
	char temporary[32];
	struct image_file head;
	int fd, err = 0;

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
	image_file_init(&head, origin, image);
	err = write_all(fd, &head, sizeof(head));
	if (err == 0)
		err = write_all(fd, image->cells, size);
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

int image_cache_get(struct image_cache *cache, const struct elf_file *file, int fd,
		    struct image *ret)
{
	struct image_origin origin;
	char name[NAME_SIZE];
	int err;

	if (!cache || !describe(cache, file, fd, &origin, name))
		return image_build(&file->cfi, &file->code, ret);
	err = get(cache, name, &origin, ret);
	if (err == 0)
		return 1;
	if (err != -ENOENT)
		log_debug("cache: %s is of no use: %s", name, strerror(-err));
	err = image_build(&file->cfi, &file->code, ret);
	if (err < 0)
		return err;
	err = put(cache, name, &origin, ret);
	if (err < 0)
		log_debug("cache: cannot keep %s: %s", name, strerror(-err));
	return 0;
}
