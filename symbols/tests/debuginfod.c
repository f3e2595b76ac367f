// SPDX-License-Identifier: Apache-2.0
#include "symbols/tests/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct client {
	int (*progress)(void *client, long a, long b);
	void *user_data;
};

_Atomic int debuginfod_n_asked, debuginfod_n_given_up;
_Atomic int debuginfod_err, debuginfod_is_silent;

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

static int keep(const unsigned char *build_id, int size, char **ret_path)
{
	char directory[512];
	int n = snprintf(directory, sizeof(directory), "%s/", getenv("DEBUGINFOD_CACHE_PATH"));

	for (int i = 0; i < size; i++)
		n += snprintf(directory + n, sizeof(directory) - (size_t)n, "%02x", build_id[i]);
	(void)mkdir(directory, 0700);
	if (asprintf(ret_path, "%s/debuginfo", directory) < 0)
		return -ENOMEM;
	return open(*ret_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

int debuginfod_find_debuginfo(void *client, const unsigned char *build_id, int size, char **path)
{
	debuginfod_n_asked++;
	do {
		if (((struct client *)client)->progress(client, 1000, 0) != 0) {
			debuginfod_n_given_up++;
			return -EINTR;
		}
		usleep(1000);
	} while (debuginfod_is_silent);
	if (debuginfod_err)
		return debuginfod_err;
	if (build_id[0] != DEBUGINFOD_KNOWN)
		return -ENOENT;
	return path ? keep(build_id, size, path) : memfd_create("debug", MFD_CLOEXEC);
}
