// SPDX-License-Identifier: Apache-2.0
#include "symbols/debug_library.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/library.h"

#define LIBRARY "libdebuginfod.so.1"
#define URLS "DEBUGINFOD_URLS"
#define BOUND "DEBUGINFOD_MAXTIME"

/*
 * Its functions, as in debuginfod_find_debuginfo(3). There is one library per process, so they are
 * set once and are read-only from then on.
 */
static struct library {
	void *(*begin)(void);
	void (*end)(void *client);
	void (*set_progress)(void *client, int (*progress)(void *client, long a, long b));
	void (*set_user_data)(void *client, void *data);
	void *(*get_user_data)(void *client);
	int (*find)(void *client, const unsigned char *build_id, int size, char **ret_path);
	bool is_loaded;
	bool is_bound; /* this program has set BOUND */
} library;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static const struct library_function functions[] = {
	{ "debuginfod_begin", offsetof(struct library, begin) },
	{ "debuginfod_end", offsetof(struct library, end) },
	{ "debuginfod_set_progressfn", offsetof(struct library, set_progress) },
	{ "debuginfod_set_user_data", offsetof(struct library, set_user_data) },
	{ "debuginfod_get_user_data", offsetof(struct library, get_user_data) },
	{ "debuginfod_find_debuginfo", offsetof(struct library, find) },
};

static void load_library(void)
{
	library.is_loaded = library_load(LIBRARY, functions, ARRAY_SIZE(functions), &library) == 0;
}

const char *debug_library_error(void)
{
	pthread_once(&library_once, load_library);
	return library.is_loaded ? NULL : LIBRARY " is not installed";
}

int debug_library_bound(uint64_t time_ns)
{
	const char *urls = getenv(URLS);
	char seconds[24];

	if (!urls || !*urls || getenv(BOUND))
		return 0;
	snprintf(seconds, sizeof(seconds), "%" PRIu64, time_ns / 1000000000 + 1);
	if (setenv(BOUND, seconds, false) < 0)
		return -errno;
	library.is_bound = true;
	return 0;
}

void debug_library_unbind(void)
{
	if (library.is_bound)
		unsetenv(BOUND);
	library.is_bound = false;
}

struct request {
	bool (*goes_on)(void *arg, long done);
	void *arg;
};

/* A nonzero result ends the request. */
static int on_progress(void *client, long done, long size)
{
	const struct request *request = library.get_user_data(client);

	return !request->goes_on(request->arg, done);
}

int debug_library_find(const unsigned char *build_id, size_t size,
		       bool (*goes_on)(void *arg, long done), void *arg, char **ret_path)
{
	struct request request = { goes_on, arg };
	void *client;
	int fd;

	if (debug_library_error())
		return -ENOSYS;
	client = library.begin();
	if (!client)
		return -ENOMEM;
	library.set_user_data(client, &request);
	library.set_progress(client, on_progress);
	fd = library.find(client, build_id, (int)size, ret_path);
	library.end(client);
	return fd;
}
