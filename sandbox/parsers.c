// SPDX-License-Identifier: Apache-2.0
#include "sandbox/parsers.h"

#include <errno.h>
#include <fcntl.h>
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
#include "sandbox/confine.h"
#include "sandbox/hello.h"
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
/* Of st_blocks, stat(2). File systems that compress binaries save up to this factor. */
#define BLOCK_SIZE 512
#define MAX_COMPRESSION 4
/* How often a request is answered by another parser if one ends. */
#define ATTEMPTS 5
/* How often one is started that ends at once, or does so for long. */
#define STARTS 3
#define STARTS_NS UINT64_C(4000000000)

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
	unsigned int n_spawners; /* so far */
	bool is_required;        /* this process parses nothing, come what may */
	bool has_started;        /* any of them */
	bool has_answered;       /* any of them */
	bool is_broken;          /* none could be started, or none answers, and none ever did */
	uint32_t accepted;       /* layers that no parser has, without a reason */
	uint32_t layers;
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

uint32_t parsers_layers(struct parsers *p)
{
	uint32_t layers;

	pthread_mutex_lock(&p->lock);
	layers = p->layers;
	pthread_mutex_unlock(&p->lock);
	return layers;
}

static bool has_answered(struct parsers *p)
{
	bool answered;

	pthread_mutex_lock(&p->lock);
	answered = p->has_answered;
	pthread_mutex_unlock(&p->lock);
	return answered;
}

static void note_answer(struct parsers *p)
{
	pthread_mutex_lock(&p->lock);
	p->has_answered = true;
	pthread_mutex_unlock(&p->lock);
}

/*
 * From now on this process parses the files, if no parser has ever started, or answered. Otherwise it
 * may be better later. Returns whether it does.
 */
static bool give_up(struct parsers *p, bool has_started, const char *why)
{
	bool is_first, broken;

	pthread_mutex_lock(&p->lock);
	is_first = !p->is_broken && !p->is_required && !p->has_answered &&
		   p->has_started <= has_started;
	p->is_broken |= is_first;
	broken = p->is_broken;
	pthread_mutex_unlock(&p->lock);
	if (is_first)
		log_warning("this process parses all files itself, with its rights: parsers %s",
			    why);
	return broken;
}

static void remove_idle(struct parsers *p, size_t i)
{
	p->n_idle--;
	memmove(&p->idle[i], &p->idle[i + 1], (p->n_idle - i) * sizeof(*p->idle));
}

static bool has_no_spawner(struct parsers *p)
{
	bool none;

	pthread_mutex_lock(&p->lock);
	none = !p->spawner || spawner_has_ended(p->spawner);
	pthread_mutex_unlock(&p->lock);
	return none;
}

/* Another spawner takes its place, if none has yet. The number is that of request_parser(). */
static void replace_spawner(struct parsers *p, unsigned int number)
{
	struct spawner *old = NULL;

	pthread_mutex_lock(&p->lock);
	if (p->n_spawners == number) {
		old = steal_ptr(p->spawner);
		(void)spawner_new(p->program, &p->spawner);
		p->n_spawners++;
	}
	pthread_mutex_unlock(&p->lock);
	spawner_free(old);
}

static int request_parser(struct parsers *p, unsigned int *ret_number, int *ret_socket)
{
	int err = -EPIPE;

	pthread_mutex_lock(&p->lock);
	*ret_number = p->n_spawners;
	if (p->spawner && !spawner_has_ended(p->spawner))
		err = spawner_request(p->spawner, ret_socket);
	pthread_mutex_unlock(&p->lock);
	return err;
}

/*
 * Does the parser have the layers that it can have? While memory is short, others may fare better. If
 * none ever did, those are used: this process would have no layer at all.
 */
static bool is_confined(struct parsers *p, const struct confinement *c, bool is_last)
{
	char list[CONFINE_LIST_SIZE];
	uint32_t missing;

	pthread_mutex_lock(&p->lock);
	missing = c->missing & ~p->accepted;
	if (missing && is_last && !p->has_started && !p->is_required) {
		log_warning("parsers of files are confined less than they could be, without %s",
			    confine_list(c->missing, list));
		p->accepted |= missing;
		missing = 0;
	}
	if (!missing) {
		p->has_started = true;
		p->layers = c->layers;
	}
	pthread_mutex_unlock(&p->lock);
	return !missing;
}

/* Waits without the lock, so that others can have files parsed. */
static int start_any(struct parsers *p, struct parser *ret)
{
	unsigned int number;
	int socket, err = request_parser(p, &number, &socket);

	if (err == 0)
		err = hello_await(socket, &ret->process);
	if (err == -EAGAIN || has_no_spawner(p))
		replace_spawner(p, number);
	return err;
}

static int start_once(struct parsers *p, bool is_last, struct parser *ret)
{
	int err = start_any(p, ret);

	if (err < 0 || is_confined(p, &ret->process.confinement, is_last))
		return err;
	end_parser(ret);
	return -EAGAIN;
}

/* -ESHUTDOWN: there will never be one. */
static int start_parser(struct parsers *p, struct parser *ret)
{
	uint64_t end_ns = clock_now_ns() + STARTS_NS;
	int err = -EAGAIN;

	for (int i = 0; i < STARTS; i++) {
		bool is_last = i == STARTS - 1 || clock_now_ns() > end_ns;

		err = start_once(p, is_last, ret);
		if (err == 0 || is_last)
			break;
	}
	if (err == 0)
		return 0;
	return give_up(p, false, "cannot be started") ? -ESHUTDOWN : -EAGAIN;
}

int parsers_check(struct parsers *p, struct confinement *ret)
{
	struct parser parser;
	int err = -EAGAIN;

	*ret = (struct confinement){ 0 };
	for (int i = 0; i < STARTS; i++) {
		err = start_any(p, &parser);
		if (err < 0)
			continue;
		*ret = parser.process.confinement;
		end_parser(&parser);
		if (!ret->missing)
			return 0;
	}
	return ret->missing ? 0 : err;
}

int parsers_require(struct parsers *p, struct confinement *ret)
{
	pthread_mutex_lock(&p->lock);
	p->is_required = true;
	pthread_mutex_unlock(&p->lock);
	return parsers_check(p, ret);
}

static int take(struct parsers *p, const struct owner *owner, struct parser *ret)
{
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
	pthread_mutex_unlock(&p->lock);
	ret->owner = *owner;
	return start_parser(p, ret);
}

static void give(struct parsers *p, const struct parser *parser)
{
	struct parser old = { .process.socket = -1 };

	pthread_mutex_lock(&p->lock);
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
			return err;
		err = send_request(ret, request, result);
		if (err == 0)
			return 0;
		end_parser(ret);
	}
	return err == -EPIPE ? -ECONNABORTED : err;
}

/* What a file may cost. Holes cost their owner nothing, so they buy nothing. */
static uint64_t stored_size(const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size;
	uint64_t stored = (uint64_t)st->st_blocks * BLOCK_SIZE * MAX_COMPRESSION;

	return size < stored ? size : stored;
}

/* Both files count: that of a debug file is read for its checksum. */
static uint64_t cpu_limit(const struct parsers *p, const struct parse_request *request,
			  uint64_t size)
{
	struct stat st;
	uint64_t mib;

	if (request->other >= 0 && fstat(request->other, &st) == 0)
		size += stored_size(&st);
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
	uint64_t size = stored_size(st);
	bool is_mixed = is_of_another(request, &owner), answered;
	struct parser_reply reply;
	struct parser parser;
	int err;

	if (result < 0)
		return -errno;
	err = begin(p, request, is_mixed ? &no_owner : &owner, result, &parser);
	if (err < 0)
		return err;
	err = receive_reply(&parser, cpu_limit(p, request, size), clock, &reply);
	answered = err == 0;
	if (answered) {
		note_answer(p);
		err = parser_take(request->kind, &reply, result, size, ret);
	}
	/* If it crashed, takes too long or is wrong, nobody knows what it does. */
	if (answered && err != -EPROTO && !is_mixed)
		give(p, &parser);
	else
		end_parser(&parser);
	return err;
}

static int ask(struct parsers *p, const struct parse_request *request, clockid_t *clock,
	       struct parse_result *ret)
{
	struct stat st;
	int err = -ECONNABORTED;

	if (fstat(request->fd, &st) < 0)
		return -errno;
	/* It may not have been the file: parsers can be killed for lack of memory, or by somebody. */
	for (int i = 0; i < ATTEMPTS && (err == -ECONNABORTED || err == -EAGAIN); i++)
		err = ask_once(p, request, &st, clock, ret);
	return err;
}

/*
 * Whether parsers end whatever file they get. No file of strangers can make that so: this one is the
 * program itself.
 */
static bool are_useless(struct parsers *p, clockid_t *clock)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct parse_request request = { .kind = PARSE_FACTS, .fd = self, .other = -1 };

	return self >= 0 && ask(p, &request, clock, &result) == -ECONNABORTED &&
	       give_up(p, true, "end when they are used");
}

int parsers_ask(struct parsers *p, const struct parse_request *request, clockid_t *clock,
		struct parse_result *ret)
{
	int err;

	*ret = (struct parse_result){ 0 };
	if (!p || is_broken(p))
		return parse_here(request, ret);
	err = ask(p, request, clock, ret);
	/* start_parser() alone returns the first: parser_take() lets none through. */
	if (err == -ESHUTDOWN ||
	    (err == -ECONNABORTED && !has_answered(p) && are_useless(p, clock)))
		return parse_here(request, ret);
	return err;
}
