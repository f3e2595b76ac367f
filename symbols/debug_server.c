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

#include "symbols/debug_library.h"
#include "symbols/debug_queue.h"
#include "symbols/names.h"

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
	struct debug_queue *queue;                                /* NULL: who asks waits */
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
	debug_queue_end(server->queue);
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

int debug_server_allow_meanwhile(struct debug_server *server,
				 const struct debug_queue_limits *limits)
{
	return debug_queue_new(server->names, limits, &server->queue);
}

bool debug_server_is_awaited(struct debug_server *server, uint32_t number)
{
	return debug_queue_is_awaited(server->queue, number);
}

void debug_server_stop(struct debug_server *server)
{
	if (server->queue)
		debug_queue_stop(server->queue);
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

	if (server->queue)
		return debug_queue_totals(server->queue);
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

static bool goes_on(void *arg, long done)
{
	const struct debug_server *server = arg;

	if (server->progress)
		server->progress(server->path, done);
	return !names_disabled(server->names) && now_ns() < server->end_ns;
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
	server->totals.error = debug_library_error();
	if (server->totals.error)
		return -1;
	HASH_FIND(hh, server->questions, build_id, size, question);
	if (question && !question->found)
		return -1;
	/* Earlier results are on disk and may still be fetched. */
	if (now_ns() >= server->end_ns && !question) {
		note(server, build_id, size, false);
		return -1;
	}
	server->path = path;
	fd = debug_library_find(build_id, size, goes_on, server, NULL);
	note(server, build_id, size, fd >= 0);
	return fd < 0 ? -1 : fd;
}

int debug_server_fetch(struct debug_server *server, const unsigned char *build_id, size_t size,
		       const char *path, uint32_t *awaited)
{
	int fd;

	if (server->fetch)
		return server->fetch(build_id, size);
	if (server->queue)
		return debug_queue_fetch(server->queue, build_id, size, awaited);
	pthread_mutex_lock(&server->lock);
	fd = fetch(server, build_id, size, path);
	pthread_mutex_unlock(&server->lock);
	return fd;
}
