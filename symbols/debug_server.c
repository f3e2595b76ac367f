// SPDX-License-Identifier: Apache-2.0
#include "symbols/debug_server.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->failed = true)
#include <uthash.h>

#include "base/array.h"
#include "base/library.h"
#include "symbols/names.h"

#define LIBRARY "libdebuginfod.so.1"

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

/* A build id that was requested; symbols and lines of a file are looked up separately. */
struct question {
	UT_hash_handle hh;
	bool found;
	bool failed;
	unsigned char build_id[];
};

struct debug_server {
	const struct names *names;
	int (*fetch)(const unsigned char *build_id, size_t size); /* NULL: it is not replaced */
	pthread_mutex_t lock;                                     /* protects what follows */
	bool allowed;
	uint64_t end_ns;
	void (*progress)(const char *path, long done);
	const char *path; /* of the current request */
	struct question *questions;
	struct debug_server_totals totals;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct debug_server *debug_server_new(const struct names *names)
{
	struct debug_server *server = calloc(1, sizeof(*server));

	if (!server)
		return NULL;
	server->names = names;
	pthread_mutex_init(&server->lock, NULL);
	return server;
}

void debug_server_free(struct debug_server *server)
{
	if (!server)
		return;
	debug_server_end(server);
	pthread_mutex_destroy(&server->lock);
	free(server);
}

void debug_server_allow(struct debug_server *server, uint64_t time_ns,
			void (*progress)(const char *path, long done))
{
	pthread_mutex_lock(&server->lock);
	server->allowed = true;
	server->end_ns = now_ns() + time_ns;
	server->progress = progress;
	pthread_mutex_unlock(&server->lock);
}

bool debug_server_is_allowed(struct debug_server *server)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	bool allowed;

	pthread_mutex_lock(&server->lock);
	allowed = server->allowed;
	pthread_mutex_unlock(&server->lock);
	return allowed && urls && *urls;
}

void debug_server_replace(struct debug_server *server,
			  int (*fetch)(const unsigned char *build_id, size_t size))
{
	server->fetch = fetch;
}

struct debug_server_totals debug_server_totals(struct debug_server *server)
{
	struct debug_server_totals totals;

	pthread_mutex_lock(&server->lock);
	totals = server->totals;
	pthread_mutex_unlock(&server->lock);
	return totals;
}

void debug_server_end(struct debug_server *server)
{
	struct question *question, *next;

	pthread_mutex_lock(&server->lock);
	server->allowed = false;
	HASH_ITER(hh, server->questions, question, next) {
		HASH_DEL(server->questions, question);
		free(question);
	}
	pthread_mutex_unlock(&server->lock);
}

/* Called at least once a second; a nonzero result ends the request. */
static int on_progress(void *client, long done, long size)
{
	const struct debug_server *server = library.get_user_data(client);

	if (server->progress)
		server->progress(server->path, done);
	return names_disabled(server->names) || now_ns() >= server->end_ns;
}

static int ask(struct debug_server *server, const unsigned char *build_id, size_t size)
{
	void *client = library.begin();
	int fd;

	if (!client)
		return -1;
	library.set_user_data(client, server);
	library.set_progress(client, on_progress);
	fd = library.find(client, build_id, (int)size, NULL);
	library.end(client);
	return fd < 0 ? -1 : fd;
}

/* When time was up, requests without a result were cancelled or never sent. */
static void note(struct debug_server *server, const unsigned char *build_id, size_t size,
		 bool found)
{
	struct question *question;

	HASH_FIND(hh, server->questions, build_id, size, question);
	if (question)
		return;
	server->totals.n_asked++;
	server->totals.n_found += found;
	server->totals.n_left_out += !found && now_ns() >= server->end_ns;
	question = calloc(1, sizeof(*question) + size);
	if (!question)
		return;
	question->found = found;
	memcpy(question->build_id, build_id, size);
	HASH_ADD(hh, server->questions, build_id, size, question);
	if (question->failed)
		free(question);
}

static int fetch(struct debug_server *server, const unsigned char *build_id, size_t size,
		 const char *path)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct question *question;
	int fd;

	if (!server->allowed || names_disabled(server->names) || !urls || urls[0] == '\0')
		return -1;
	pthread_once(&library_once, load_library);
	if (!library.is_loaded) {
		server->totals.error = LIBRARY " is not installed";
		return -1;
	}
	HASH_FIND(hh, server->questions, build_id, size, question);
	if (question && !question->found)
		return -1;
	/* Earlier results are on disk and may still be fetched. */
	if (now_ns() >= server->end_ns && !question) {
		note(server, build_id, size, false);
		return -1;
	}
	server->path = path;
	fd = ask(server, build_id, size);
	note(server, build_id, size, fd >= 0);
	return fd;
}

int debug_server_fetch(struct debug_server *server, const unsigned char *build_id, size_t size,
		       const char *path)
{
	int fd;

	if (server->fetch)
		return server->fetch(build_id, size);
	pthread_mutex_lock(&server->lock);
	fd = fetch(server, build_id, size, path);
	pthread_mutex_unlock(&server->lock);
	return fd;
}
