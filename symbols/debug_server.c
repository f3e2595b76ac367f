// SPDX-License-Identifier: Apache-2.0
#include "symbols/debug_server.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->failed = true)
#include <uthash.h>

#include "symbols/names.h"

/*
 * The library is loaded when it is first needed: it brings forty others with it, whose
 * start would take longer than that of a profile. These are its functions as in
 * debuginfod_find_debuginfo(3).
 */
#define LIBRARY "libdebuginfod.so.1"

struct library {
	void *(*begin)(void);
	void (*end)(void *client);
	void (*set_progress)(void *client, int (*progress)(void *client, long a, long b));
	int (*find)(void *client, const unsigned char *build_id, int size, char **ret_path);
};

/* A build id that was asked for: a file's symbols and its lines are looked up apart. */
struct question {
	UT_hash_handle hh;
	bool found;
	bool failed;
	unsigned char build_id[];
};

static struct {
	pthread_mutex_t lock;
	bool allowed, loaded;
	uint64_t end_ns;
	void (*progress)(const char *path, long done);
	const char *path; /* of what is being asked for */
	struct library library;
	struct question *questions;
	struct debug_server_totals totals;
} server = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void debug_server_allow(uint64_t time_ns, void (*progress)(const char *path, long done))
{
	pthread_mutex_lock(&server.lock);
	server.allowed = true;
	server.end_ns = now_ns() + time_ns;
	server.progress = progress;
	pthread_mutex_unlock(&server.lock);
}

bool debug_server_is_allowed(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	bool allowed;

	pthread_mutex_lock(&server.lock);
	allowed = server.allowed;
	pthread_mutex_unlock(&server.lock);
	return allowed && urls && *urls;
}

struct debug_server_totals debug_server_totals(void)
{
	return server.totals;
}

void debug_server_done(void)
{
	struct question *question, *next;

	pthread_mutex_lock(&server.lock);
	server.allowed = false;
	HASH_ITER(hh, server.questions, question, next) {
		HASH_DEL(server.questions, question);
		free(question);
	}
	pthread_mutex_unlock(&server.lock);
}

static void load(void)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW);
	struct library *l = &server.library;

	server.loaded = true;
	if (handle) {
		*(void **)&l->begin = dlsym(handle, "debuginfod_begin");
		*(void **)&l->end = dlsym(handle, "debuginfod_end");
		*(void **)&l->set_progress = dlsym(handle, "debuginfod_set_progressfn");
		*(void **)&l->find = dlsym(handle, "debuginfod_find_debuginfo");
	}
	if (!l->begin || !l->end || !l->set_progress || !l->find)
		server.totals.error = LIBRARY " is not installed";
}

/* Called once a second or more often; other than 0 ends the question. */
static int on_progress(void *client, long done, long size)
{
	if (server.progress)
		server.progress(server.path, done);
	return names_disabled() || now_ns() >= server.end_ns;
}

static int ask(const unsigned char *build_id, size_t size)
{
	void *client = server.library.begin();
	int fd;

	if (!client)
		return -1;
	server.library.set_progress(client, on_progress);
	fd = server.library.find(client, build_id, (int)size, NULL);
	server.library.end(client);
	return fd < 0 ? -1 : fd;
}

/* What was not found when the time was over was given up, or never begun. */
static void note(const unsigned char *build_id, size_t size, bool found)
{
	struct question *question;

	HASH_FIND(hh, server.questions, build_id, size, question);
	if (question)
		return;
	server.totals.n_asked++;
	server.totals.n_found += found;
	server.totals.n_left_out += !found && now_ns() >= server.end_ns;
	question = calloc(1, sizeof(*question) + size);
	if (!question)
		return;
	question->found = found;
	memcpy(question->build_id, build_id, size);
	HASH_ADD(hh, server.questions, build_id, size, question);
	if (question->failed)
		free(question);
}

static int fetch(const unsigned char *build_id, size_t size, const char *path)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct question *question;
	int fd;

	if (!server.allowed || names_disabled() || !urls || urls[0] == '\0')
		return -1;
	if (!server.loaded)
		load();
	if (server.totals.error)
		return -1;
	HASH_FIND(hh, server.questions, build_id, size, question);
	if (question && !question->found)
		return -1;
	/* What was found is on disk by now. */
	if (now_ns() >= server.end_ns && !question) {
		note(build_id, size, false);
		return -1;
	}
	server.path = path;
	fd = ask(build_id, size);
	note(build_id, size, fd >= 0);
	return fd;
}

int debug_server_fetch(const unsigned char *build_id, size_t size, const char *path)
{
	int fd;

	pthread_mutex_lock(&server.lock);
	fd = fetch(build_id, size, path);
	pthread_mutex_unlock(&server.lock);
	return fd;
}
