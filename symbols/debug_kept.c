// SPDX-License-Identifier: Apache-2.0
#include "symbols/debug_kept.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

/* While it is received, it has a suffix, and keeps that if the process is killed. */
#define FILE_NAME "debuginfo"

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

static void add_all(struct list *l, int directory, const char *build_id)
{
	_cleanup_closedir_ DIR *own = NULL;
	size_t length = strlen(build_id);
	const struct dirent *d;
	int fd;

	if (length == 0 || strspn(build_id, "0123456789abcdef") != length)
		return;
	fd = openat(directory, build_id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	own = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !own)
		close(fd);
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
		if (unlinkat(directory, l->items[i].name, 0) == 0)
			l->total -= l->items[i].size;
	}
}

void debug_kept_limit(const char *path, uint64_t limit)
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

void debug_kept_make(const char *directory)
{
	_cleanup_free_ char *parent = strdup(directory);
	char *slash = parent ? strrchr(parent, '/') : NULL;

	if (!slash || slash == parent)
		return;
	*slash = '\0';
	(void)mkdir(parent, 0700);
	(void)mkdir(directory, 0700);
}
