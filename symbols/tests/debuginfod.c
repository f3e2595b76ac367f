// SPDX-License-Identifier: Apache-2.0
#include "symbols/tests/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct client {
	int (*progress)(void *client, long a, long b);
	void *user_data;
};

_Atomic int debuginfod_n_asked, debuginfod_n_given_up;
_Atomic int debuginfod_err, debuginfod_is_silent;
_Atomic long debuginfod_size = 1000;

void *debuginfod_begin(void)
{
	return calloc(1, sizeof(struct client));
}

void debuginfod_end(void *client)
{
	free(client);
}

void debuginfod_set_progressfn(void *client, int (*progress)(void *client, long a, long b))
{
	((struct client *)client)->progress = progress;
}

void debuginfod_set_user_data(void *client, void *data)
{
	((struct client *)client)->user_data = data;
}

void *debuginfod_get_user_data(void *client)
{
	return ((struct client *)client)->user_data;
}

struct paths {
	char directory[512], file[540], part[540];
};

static void find_paths(const unsigned char *build_id, int size, struct paths *ret)
{
	int n = snprintf(ret->directory, sizeof(ret->directory), "%s/",
			 getenv("DEBUGINFOD_CACHE_PATH"));

	for (int i = 0; i < size; i++)
		n += snprintf(ret->directory + n, sizeof(ret->directory) - (size_t)n, "%02x",
			      build_id[i]);
	snprintf(ret->file, sizeof(ret->file), "%s/debuginfo", ret->directory);
	snprintf(ret->part, sizeof(ret->part), "%s/debuginfo.aBcDeF", ret->directory);
}

/* An empty file says that no server has one. */
static void keep_absent(const struct paths *paths)
{
	int fd = open(paths->file, O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
}

static int use_kept(const struct paths *paths, int fd, char **ret_path)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_size == 0) {
		close(fd);
		return -ENOENT;
	}
	*ret_path = strdup(paths->file);
	return fd;
}

static int keep(const struct paths *paths, char **ret_path)
{
	static const struct timespec old[2]; /* the server's */
	int fd = open(paths->part, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || futimens(fd, old) < 0 || rename(paths->part, paths->file) < 0)
		return -EIO;
	*ret_path = strdup(paths->file);
	return fd;
}

static void write_part(const struct paths *paths)
{
	int fd = open(paths->part, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, debuginfod_size) < 0)
		abort();
	close(fd);
}

/* False: it was given up. */
static bool wait_for_answer(const struct client *client, void (*receive)(const struct paths *paths),
			    const struct paths *paths)
{
	debuginfod_n_asked++;
	do {
		if (client->progress((void *)client, 1000, 0) != 0) {
			debuginfod_n_given_up++;
			return false;
		}
		receive(paths);
		usleep(1000);
	} while (debuginfod_is_silent);
	return true;
}

static void receive_nothing(const struct paths *paths)
{
}

static int answer(const unsigned char *build_id)
{
	if (debuginfod_err)
		return debuginfod_err;
	return build_id[0] == DEBUGINFOD_KNOWN ? 0 : -ENOENT;
}

/* As version 0.188 does it, also when it is given up. */
static int find_and_keep(const struct client *client, const unsigned char *build_id, int size,
			 char **ret_path)
{
	struct paths paths;
	int fd, err;

	find_paths(build_id, size, &paths);
	fd = open(paths.file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return use_kept(&paths, fd, ret_path);
	(void)mkdir(paths.directory, 0700);
	err = wait_for_answer(client, write_part, &paths) ? answer(build_id) : -ENOENT;
	if (err == 0)
		return keep(&paths, ret_path);
	(void)unlink(paths.part);
	if (err == -ENOENT)
		keep_absent(&paths);
	return err;
}

int debuginfod_find_debuginfo(void *client, const unsigned char *build_id, int size, char **path)
{
	int err;

	if (size >= 64)
		return -EINVAL;
	if (path)
		return find_and_keep(client, build_id, size, path);
	err = wait_for_answer(client, receive_nothing, NULL) ? answer(build_id) : -ENOENT;
	return err < 0 ? err : memfd_create("debug", MFD_CLOEXEC);
}
