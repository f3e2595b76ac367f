// SPDX-License-Identifier: Apache-2.0
#include "symbols/debug_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "symbols/debug_library.h"

/* While it is received, it has a suffix, and keeps that if the process is killed. */
#define FILE_NAME "debuginfo"

/* What libdebuginfod's cache_miss_s is, unless somebody has changed it. */
#define ABSENT_S 600

struct kept {
	char *name; /* relative to the directory */
	time_t used;
	uint64_t size; /* on disk */
};

struct list {
	struct kept *items;
	size_t n, size;
	uint64_t total;
};

static void list_done(struct list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->items[i].name);
	free(l->items);
}

static void add(struct list *l, int directory, const char *build_id, const char *file)
{
	struct stat st;
	char *name;

	if (asprintf(&name, "%s/%s", build_id, file) < 0)
		return;
	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    array_reserve(l->items, l->n, l->size) < 0) {
		free(name);
		return;
	}
	/* Reading need not change the time of access (relatime). */
	l->items[l->n++] = (struct kept){
		.name = name,
		.used = st.st_atime > st.st_mtime ? st.st_atime : st.st_mtime,
		.size = (uint64_t)st.st_blocks * 512,
	};
	l->total += l->items[l->n - 1].size;
}

/* NULL: it is no build id's. */
static DIR *open_own(int directory, const char *build_id)
{
	size_t length = strlen(build_id);
	DIR *own;
	int fd;

	if (length == 0 || strspn(build_id, "0123456789abcdef") != length)
		return NULL;
	fd = openat(directory, build_id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	own = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !own)
		close(fd);
	return own;
}

static void add_all(struct list *l, int directory, const char *build_id)
{
	_cleanup_closedir_ DIR *own = open_own(directory, build_id);
	const struct dirent *d;

	while (own && (d = readdir(own)))
		if (strncmp(d->d_name, FILE_NAME, strlen(FILE_NAME)) == 0)
			add(l, directory, build_id, d->d_name);
}

static int compare_use(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return (x->used > y->used) - (x->used < y->used);
}

static void remove_oldest(struct list *l, int directory, const char *but, uint64_t limit)
{
	if (l->n > 0)
		qsort(l->items, l->n, sizeof(*l->items), compare_use);
	for (size_t i = 0; i < l->n && l->total > limit; i++) {
		if (strcmp(l->items[i].name, but) == 0)
			continue;
		if (unlinkat(directory, l->items[i].name, 0) < 0)
			continue;
		l->total -= l->items[i].size;
		l->items[i].name[strcspn(l->items[i].name, "/")] = '\0';
		(void)unlinkat(directory, l->items[i].name, AT_REMOVEDIR); /* unless it has more */
	}
}

void debug_cache_limit(const char *path, uint64_t limit)
{
	_cleanup_free_ char *parent = strdup(path);
	_cleanup_(list_done) struct list list = { 0 };
	_cleanup_closedir_ DIR *directory = NULL;
	char *slash = parent ? strrchr(parent, '/') : NULL;
	const struct dirent *d;

	if (!slash || strcmp(slash, "/" FILE_NAME) != 0)
		return;
	*slash = '\0';
	slash = strrchr(parent, '/');
	if (!slash || slash == parent)
		return;
	*slash = '\0';
	directory = opendir(parent);
	while (directory && (d = readdir(directory)))
		add_all(&list, dirfd(directory), d->d_name);
	if (directory)
		remove_oldest(&list, dirfd(directory), path + (slash - parent) + 1, limit);
}

int debug_cache_make(const char *directory)
{
	_cleanup_free_ char *parent = strdup(directory);
	char *slash = parent ? strrchr(parent, '/') : NULL;

	if (!parent)
		return -ENOMEM;
	if (!slash)
		return 0; /* libdebuginfod makes it */
	*slash = '\0';
	if (*parent)
		(void)mkdir(parent, 0700);
	return mkdir(directory, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* Its directory's name: all build ids that are requested are shorter. */
struct name {
	char text[2 * DEBUG_LIBRARY_ID_SIZE + 1];
};

static struct name name_of(const unsigned char *build_id, size_t size)
{
	struct name name = { "" };

	for (size_t i = 0; i < size && i < DEBUG_LIBRARY_ID_SIZE; i++)
		snprintf(name.text + 2 * i, sizeof(name.text) - 2 * i, "%02x", build_id[i]);
	return name;
}

uint64_t debug_cache_size(const char *directory, const unsigned char *build_id, size_t size)
{
	const struct name name = name_of(build_id, size);
	_cleanup_closedir_ DIR *all = opendir(directory);
	_cleanup_closedir_ DIR *own = all ? open_own(dirfd(all), name.text) : NULL;
	const struct dirent *d;
	uint64_t most = 0;
	struct stat st;

	while (own && (d = readdir(own)))
		if (strncmp(d->d_name, FILE_NAME, strlen(FILE_NAME)) == 0 &&
		    fstatat(dirfd(own), d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && (uint64_t)st.st_size > most)
			most = (uint64_t)st.st_size;
	return most;
}

/* Those that are not written to since a time in seconds since 1970. */
static void forget_absent(int directory, const char *build_id, time_t since)
{
	_cleanup_closedir_ DIR *own = open_own(directory, build_id);
	struct stat st;

	if (!own)
		return;
	if (fstatat(dirfd(own), FILE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size == 0 && st.st_mtime <= since && unlinkat(dirfd(own), FILE_NAME, 0) == 0)
		(void)unlinkat(directory, build_id, AT_REMOVEDIR); /* unless it has more */
}

void debug_cache_forget_absent(const char *directory, const unsigned char *build_id, size_t size)
{
	const struct name name = name_of(build_id, size);
	_cleanup_closedir_ DIR *all = opendir(directory);

	if (all)
		forget_absent(dirfd(all), name.text, time(NULL));
}

void debug_cache_forget_old(const char *directory)
{
	_cleanup_closedir_ DIR *all = opendir(directory);
	const struct dirent *d;

	while (all && (d = readdir(all)))
		forget_absent(dirfd(all), d->d_name, time(NULL) - ABSENT_S);
}

void debug_cache_touch(int fd)
{
	const struct timespec times[] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_OMIT } };

	(void)futimens(fd, times);
}
