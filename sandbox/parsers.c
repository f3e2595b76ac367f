// SPDX-License-Identifier: Apache-2.0
#include "sandbox/parsers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "log/clock.h"
#include "log/log.h"
#include "sandbox/message.h"
#include "sandbox/parser.h"
#include "sandbox/spawner.h"

/* More idle ones than threads that ask are of no use. */
#define MAX_IDLE 4
/* How often the CPU time of a parser is looked at. */
#define LOOK_MS 100
/* One that has stopped for so long does not go on. */
#define STOPPED_NS UINT64_C(2000000000)
/* Larger files get no more time than one of this size. */
#define MAX_MIB 4096
/* How often a request is answered by another parser if one ends. */
#define ATTEMPTS 5

/*
 * What one user's file has made of a parser must not meet the files of another. File systems in
 * user space name any owner, but each is a device of its own.
 */
struct owner {
	dev_t device;
	uid_t user;
};

struct parser {
	struct spawned process;
	struct owner owner; /* of all files that it has got */
};

struct parsers {
	char *program;
	uint64_t cpu_ns;
	pthread_mutex_t lock; /* protects what follows */
	struct spawner *spawner;
	struct parser idle[MAX_IDLE]; /* the least recently used first */
	size_t n_idle;
	bool has_answered; /* any of them */
	bool is_broken;    /* none could be started, and none ever was */
	unsigned int layers;
	size_t n_users;
};

int parsers_new(const char *program, struct parsers **ret)
{
	struct parsers *p = calloc(1, sizeof(*p));
	int err;

	*ret = NULL;
	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	p->n_users = 1;
	p->cpu_ns = PARSERS_CPU_NS;
	p->program = strdup(program);
	err = p->program ? spawner_new(program, &p->spawner) : -ENOMEM;
	if (err < 0) {
		parsers_drop(p);
		return err;
	}
	*ret = p;
	return 0;
}

struct parsers *parsers_hold(struct parsers *p)
{
	if (!p)
		return NULL;
	pthread_mutex_lock(&p->lock);
	p->n_users++;
	pthread_mutex_unlock(&p->lock);
	return p;
}

static void end_parser(const struct parser *parser)
{
	(void)syscall(SYS_pidfd_send_signal, parser->process.pidfd, SIGKILL, NULL, 0);
	close(parser->process.socket);
	close(parser->process.pidfd);
}

struct parsers *parsers_drop(struct parsers *p)
{
	bool is_last;

	if (!p)
		return NULL;
	pthread_mutex_lock(&p->lock);
	is_last = --p->n_users == 0;
	pthread_mutex_unlock(&p->lock);
	if (!is_last)
		return NULL;
	while (p->n_idle > 0)
		end_parser(&p->idle[--p->n_idle]);
	spawner_free(p->spawner);
	pthread_mutex_destroy(&p->lock);
	free(p->program);
	free(p);
	return NULL;
}

void parsers_set_cpu_limit(struct parsers *p, uint64_t cpu_ns)
{
	p->cpu_ns = cpu_ns;
}

static bool is_broken(struct parsers *p)
{
	bool broken;

	pthread_mutex_lock(&p->lock);
	broken = p->is_broken;
	pthread_mutex_unlock(&p->lock);
	return broken;
}

unsigned int parsers_layers(struct parsers *p)
{
	unsigned int layers;

	pthread_mutex_lock(&p->lock);
	layers = p->layers;
	pthread_mutex_unlock(&p->lock);
	return layers;
}

static void remove_idle(struct parsers *p, size_t i)
{
	p->n_idle--;
	memmove(&p->idle[i], &p->idle[i + 1], (p->n_idle - i) * sizeof(*p->idle));
}

/* If the spawner does not answer, another one takes its place. The lock is held. */
static int start_parser(struct parsers *p, struct spawned *ret)
{
	int err = p->spawner ? spawner_start(p->spawner, ret) : -EPIPE;

	if (err == 0)
		return 0;
	p->spawner = spawner_free(p->spawner);
	err = spawner_new(p->program, &p->spawner);
	if (err == 0)
		err = spawner_start(p->spawner, ret);
	if (err < 0 && !p->has_answered) {
		log_debug("files are parsed in this process: %s", strerror(-err));
		p->is_broken = true;
		return -ESHUTDOWN;
	}
	return err;
}

static int take(struct parsers *p, const struct owner *owner, struct parser *ret)
{
	int err = 0;

	pthread_mutex_lock(&p->lock);
	for (size_t i = p->n_idle; i-- > 0;) {
		const struct owner *o = &p->idle[i].owner;

		if (o->device != owner->device || o->user != owner->user)
			continue;
		*ret = p->idle[i];
		remove_idle(p, i);
		pthread_mutex_unlock(&p->lock);
		return 0;
	}
	ret->owner = *owner;
	err = start_parser(p, &ret->process);
	pthread_mutex_unlock(&p->lock);
	return err;
}

static void give(struct parsers *p, const struct parser *parser, unsigned int layers)
{
	struct parser old = { .process.socket = -1 };

	pthread_mutex_lock(&p->lock);
	p->has_answered = true;
	p->layers = layers;
	if (p->n_idle == MAX_IDLE) {
		old = p->idle[0];
		remove_idle(p, 0);
	}
	p->idle[p->n_idle++] = *parser;
	pthread_mutex_unlock(&p->lock);
	if (old.process.socket >= 0)
		end_parser(&old);
}

/*
 * Whether somebody has stopped a parser that does nothing. Otherwise it waits for a CPU, or for a
 * file that is slow to read.
 */
static bool is_stopped(pid_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[32], state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	return file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && strchr("TtZX", state);
}

/*
 * Only CPU time is limited: a file may be slow to read, which the caller notices by the clock, and
 * the machine may be busy.
 */
static int wait_for_answer(const struct spawned *parser, uint64_t limit, clockid_t clock)
{
	struct pollfd fd = { .fd = parser->socket, .events = POLLIN };
	uint64_t begun = clock_read_ns(clock), last = begun, since = clock_now_ns();

	for (;;) {
		int n = poll(&fd, 1, LOOK_MS);
		uint64_t now = clock_now_ns(), cpu_ns = clock_read_ns(clock);

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (cpu_ns > begun + limit)
			return -ETIME;
		if (cpu_ns != last)
			since = now;
		else if (now > since + STOPPED_NS && is_stopped(parser->pid))
			return -ECONNABORTED;
		last = cpu_ns;
	}
}

/* -EPIPE: the parser had ended before. */
static int send_request(const struct parser *parser, const struct parse_request *request,
			int result)
{
	const struct parser_request message = {
		.kind = request->kind,
		.has_other = request->other >= 0,
	};
	const int fds[] = { request->fd, result, request->other };

	return message_send(parser->process.socket, &message, sizeof(message), fds,
			    request->other >= 0 ? 3 : 2);
}

static int receive_reply(const struct parser *parser, uint64_t limit, clockid_t *clock,
			 struct parser_reply *ret)
{
	int fds[MESSAGE_MAX_FDS];
	clockid_t own;
	int err = clock_getcpuclockid(parser->process.pid, &own);

	/* It has ended already. */
	if (err != 0)
		return -ECONNABORTED;
	__atomic_store_n(clock, own, __ATOMIC_RELAXED);
	err = wait_for_answer(&parser->process, limit, own);
	__atomic_store_n(clock, 0, __ATOMIC_RELAXED);
	if (err < 0)
		return err;
	err = message_receive(parser->process.socket, ret, sizeof(*ret), fds);
	if (err < 0)
		return err == -EPIPE ? -ECONNABORTED : err;
	for (size_t i = 0; i < MESSAGE_MAX_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return 0;
}

/* Takes a parser that lives; idle ones may have been killed, for example for lack of memory. */
static int begin(struct parsers *p, const struct parse_request *request, const struct owner *owner,
		 int result, struct parser *ret)
{
	int err;

	for (size_t i = 0; i <= MAX_IDLE; i++) {
		err = take(p, owner, ret);
		if (err < 0)
			return err == -EPIPE || err == -EAGAIN ? -ECONNABORTED : err;
		err = send_request(ret, request, result);
		if (err == 0)
			return 0;
		end_parser(ret);
	}
	return err == -EPIPE ? -ECONNABORTED : err;
}

/* Both files count: that of a debug file is read for its checksum. */
static uint64_t cpu_limit(const struct parsers *p, const struct parse_request *request,
			  uint64_t size)
{
	struct stat st;
	uint64_t mib;

	if (request->other >= 0 && fstat(request->other, &st) == 0)
		size += (uint64_t)st.st_size;
	mib = size >> 20;
	return p->cpu_ns + (mib < MAX_MIB ? mib : MAX_MIB) * (p->cpu_ns / 100);
}

/* No file has this owner, so it gets a parser that has met none. */
static const struct owner no_owner = { (dev_t)-1, (uid_t)-1 };

/* A parser that gets files of two owners meets no others. */
static bool is_of_another(const struct parse_request *request, const struct owner *owner)
{
	struct stat st;

	return request->other >= 0 && (fstat(request->other, &st) < 0 ||
				       st.st_dev != owner->device || st.st_uid != owner->user);
}

static int ask_once(struct parsers *p, const struct parse_request *request, const struct stat *st,
		    clockid_t *clock, struct parse_result *ret)
{
	_cleanup_close_ int result = memfd_create("result", MFD_CLOEXEC);
	const struct owner owner = { st->st_dev, st->st_uid };
	uint64_t size = (uint64_t)st->st_size;
	bool is_mixed = is_of_another(request, &owner), has_answered;
	struct parser_reply reply;
	struct parser parser;
	int err;

	if (result < 0)
		return -errno;
	err = begin(p, request, is_mixed ? &no_owner : &owner, result, &parser);
	if (err < 0)
		return err;
	err = receive_reply(&parser, cpu_limit(p, request, size), clock, &reply);
	has_answered = err == 0;
	if (has_answered)
		err = parser_take(request->kind, &reply, result, size, ret);
	/* If it crashed, takes too long or is wrong, nobody knows what it does. */
	if (has_answered && err != -EPROTO && !is_mixed)
		give(p, &parser, reply.layers);
	else
		end_parser(&parser);
	return err;
}

int parsers_ask(struct parsers *p, const struct parse_request *request, clockid_t *clock,
		struct parse_result *ret)
{
	struct stat st;
	int err = -ECONNABORTED;

	*ret = (struct parse_result){ 0 };
	if (!p || is_broken(p))
		return parse_here(request, ret);
	if (fstat(request->fd, &st) < 0)
		return -errno;
	/* It may not have been the file: parsers can be killed for lack of memory, or by somebody. */
	for (int i = 0; i < ATTEMPTS && err == -ECONNABORTED; i++)
		err = ask_once(p, request, &st, clock, ret);
	if (err == -ESHUTDOWN) /* by start_parser() only: parser_take() lets none through */
		return parse_here(request, ret);
	return err;
}
