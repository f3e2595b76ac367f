// SPDX-License-Identifier: Apache-2.0
#include "agent/left_spools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "log/clock.h"
#include "log/log.h"

#define SECOND UINT64_C(1000000000)
#define NAME_SIZE 32
#define NUMBER_LENGTH 20 /* deliver/spool.c */

struct file {
	char spool[NAME_SIZE], name[NAME_SIZE];
	uint64_t time_ns, size;
};

struct files {
	struct file *of;
	size_t n, size;
};

static DIR *open_at(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/* Whoever delivers from it has it locked. */
static bool is_left(int spool)
{
	_cleanup_close_ int fd = openat(spool, "lock", O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0;
}

static int add_file(struct files *files, int directory, const char *spool, const char *name)
{
	struct file *file;
	struct stat st;

	if (strlen(name) != NUMBER_LENGTH || strspn(name, "0123456789") != NUMBER_LENGTH ||
	    fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (array_reserve(files->of, files->n, files->size) < 0)
		return -ENOMEM;
	file = &files->of[files->n++];
	*file = (struct file){ .time_ns = (uint64_t)st.st_mtim.tv_sec * SECOND +
					  (uint64_t)st.st_mtim.tv_nsec,
			       .size = (uint64_t)st.st_size };
	strcpy(file->spool, spool);
	strcpy(file->name, name);
	return 0;
}

static int add_spool(struct files *files, int parent, const char *name)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *e;
	int err = 0;

	/* agent/backend.c. Other directories are not ours. */
	if ((strncmp(name, "otlp-", 5) != 0 && strncmp(name, "pyroscope-", 10) != 0) ||
	    strlen(name) >= NAME_SIZE)
		return 0;
	dir = open_at(parent, name);
	if (!dir || !is_left(dirfd(dir)))
		return 0;
	while (err == 0 && (e = readdir(dir)))
		err = add_file(files, dirfd(dir), name, e->d_name);
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void remove_file(int directory, const struct file *file)
{
	char path[2 * NAME_SIZE];

	snprintf(path, sizeof(path), "%s/%s", file->spool, file->name);
	if (unlinkat(directory, path, 0) < 0)
		log_debug("cannot remove %s: %s", path, strerror(errno));
}

static uint64_t size_of(const struct files *files)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < files->n; i++)
		bytes += files->of[i].size;
	return bytes;
}

static bool is_old(const struct file *file)
{
	uint64_t now = clock_real_ns();

	return now > file->time_ns && now - file->time_ns > LEFT_SPOOLS_AGE_NS;
}

static void bound(struct left_spools *left, const char *path, int directory,
		  const struct files *files, uint64_t max_bytes)
{
	uint64_t bytes = size_of(files);
	size_t n = 0;

	for (; n < files->n && (bytes > max_bytes || is_old(&files->of[n])); n++) {
		remove_file(directory, &files->of[n]);
		bytes -= files->of[n].size;
	}
	left->removed += n;
	left->n = files->n - n;
	left->bytes = bytes;
	if (n > 0)
		log_warning("%zu requests in %s are removed: the backends that they waited for are "
			    "not configured any more",
			    n, path);
}

/* Returns the number of requests that wait. */
static size_t look(struct left_spools *left, const char *path, uint64_t max_bytes)
{
	_cleanup_closedir_ DIR *dir = open_at(AT_FDCWD, path);
	struct files files = { 0 };
	const struct dirent *e;
	int err = 0;

	while (dir && err == 0 && (e = readdir(dir)))
		err = add_spool(&files, dirfd(dir), e->d_name);
	if (files.n > 0)
		qsort(files.of, files.n, sizeof(*files.of), compare);
	bound(left, path, dir ? dirfd(dir) : -1, &files, max_bytes);
	free(files.of);
	return left->n;
}

void left_spools_look(struct left_spools *left, const struct agent_options *o, bool is_news)
{
	uint64_t now = clock_now_ns();

	if (!is_news && now < left->looked_ns + LEFT_SPOOLS_LOOK_NS)
		return;
	left->looked_ns = now;
	left->n = left->bytes = 0;
	if (o->spool && look(left, o->spool, o->spool_size) > 0 && is_news)
		log_warning("%" PRIu64 " requests (%" PRIu64 " bytes) in %s wait for backends that "
			    "are not configured any more; they are kept for a week at most",
			    left->n, left->bytes, o->spool);
}

struct left_counts left_spools_counts(struct left_spools *left)
{
	return (struct left_counts){ .n = left->n, .bytes = left->bytes, .removed = left->removed };
}
