// SPDX-License-Identifier: Apache-2.0
#include "cli/recording_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/mapped_file.h"
#include "limits/limits.h"

#define EXTENSION ".dwarfprof"
#define SECOND UINT64_C(1000000000)

/* What the name says, agent/store.h; 0: nothing. */
static uint64_t begin_of(const char *name)
{
	struct tm tm = { 0 };
	const char *end = strptime(name, "%Y%m%dT%H%M%S", &tm);
	time_t begin = end && *end == '.' ? timegm(&tm) : 0;

	return begin > 0 ? (uint64_t)begin * SECOND : 0;
}

static bool is_wanted(int directory, const char *name, uint64_t from_ns, uint64_t to_ns,
		      struct stat *ret)
{
	size_t n = strlen(name), m = strlen(EXTENSION);

	if (name[0] == '.' || n <= m || strcmp(name + n - m, EXTENSION) != 0 ||
	    fstatat(directory, name, ret, 0) < 0 || !S_ISREG(ret->st_mode))
		return false;
	return ((uint64_t)ret->st_mtim.tv_sec + 1) * SECOND >= from_ns &&
	       (!to_ns || begin_of(name) < to_ns);
}

static int compare(const void *a, const void *b)
{
	const struct listed_recording *left = a, *right = b;

	return strcmp(left->path, right->path);
}

int recording_list_read(const char *directory, uint64_t from_ns, uint64_t to_ns,
			struct recording_list *ret)
{
	_cleanup_closedir_ DIR *dir = opendir(directory);
	struct dirent *entry;
	struct stat st;

	*ret = (struct recording_list){ 0 };
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		struct listed_recording *next;

		if (!is_wanted(dirfd(dir), entry->d_name, from_ns, to_ns, &st))
			continue;
		if (array_reserve(ret->of, ret->n, ret->size) < 0)
			return -ENOMEM;
		next = &ret->of[ret->n];
		*next = (struct listed_recording){ .device = st.st_dev,
						   .inode = st.st_ino,
						   .fd = -1 };
		if (asprintf(&next->path, "%s/%s", directory, entry->d_name) < 0)
			return -ENOMEM;
		ret->n++;
	}
	if (ret->n == 0)
		return -ENOENT;
	qsort(ret->of, ret->n, sizeof(*ret->of), compare);
	return 0;
}

/*
 * -1 if another file is there by now, perhaps a stranger's, which may be no file at all and must not
 * notice.
 */
static int open_one(const struct listed_recording *r)
{
	_cleanup_close_ int place = open(r->path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (place < 0 || fstat(place, &st) < 0 || st.st_dev != r->device || st.st_ino != r->inode ||
	    !S_ISREG(st.st_mode))
		return -1;
	return file_reopen(place);
}

void recording_list_open(struct recording_list *list)
{
	struct rlimit limit = { 0 };

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	for (size_t i = 0; i < list->n; i++) {
		list->of[i].is_one_too_many = i >= limit.rlim_cur / RECORDING_LIST_SHARE;
		if (!list->of[i].is_one_too_many)
			list->of[i].fd = open_one(&list->of[i]);
	}
}

void recording_list_done(struct recording_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->of[i].path);
		if (list->of[i].fd >= 0)
			close(list->of[i].fd);
	}
	free(list->of);
	*list = (struct recording_list){ 0 };
}
