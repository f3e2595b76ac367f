// SPDX-License-Identifier: Apache-2.0
#include "sandbox/parsers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "elf/mapped_file.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "sandbox/cpu_budget.h"
#include "sandbox/finders.h"
#include "sandbox/message.h"
#include "sandbox/parser.h"
#include "sandbox/passage.h"
#include "sandbox/result_file.h"
#include "sandbox/starter.h"
#include "symbols/failures.h"

/* More idle ones than threads that ask are of no use. */
#define MAX_IDLE 6
/* A process's first binaries are parsed by this many at once, if there are as many CPUs. */
#define PREPARED 2
/* Of st_blocks, stat(2). File systems that compress binaries save up to this factor. */
#define BLOCK_SIZE 512
#define MAX_COMPRESSION 4

/*
 * What one user's file has made of a parser must not meet the files of another. File systems in
 * user space name any owner, but each is a device of its own.
 */
struct owner {
	dev_t device;
	uid_t user;
	bool is_of_jit; /* what root's programs write there may be others' words */
};

static bool owner_equals(const struct owner *a, const struct owner *b)
{
	return a->device == b->device && a->user == b->user && a->is_of_jit == b->is_of_jit;
}

struct parser {
	struct spawned process;
	bool is_fresh;      /* has got no file */
	struct owner owner; /* of all files that it has got */
	uint64_t used_ns;   /* since when it is idle */
};

struct parsers {
	uint64_t cpu_ns;
	struct starter *starter;
	struct finders *finders;      /* NULL: none */
	struct cpu_budget *budget;    /* NULL: no limit */
	pthread_mutex_t lock;         /* protects what follows */
	struct parser idle[MAX_IDLE]; /* the least recently used first */
	size_t n_idle;
	size_t n_users;
	size_t n_failures;
	struct failures *told; /* whom they are told to; NULL: nobody */
};

void parsers_set_budget(struct parsers *p, struct cpu_budget *budget)
{
	p->budget = cpu_budget_hold(budget);
}

struct cpu_budget *parsers_budget(const struct parsers *p)
{
	return p->budget;
}

int parsers_new(const char *program, struct parsers **ret)
{
	return parsers_new_for(program, SPAWNED_ALL, ret);
}

int parsers_new_for(const char *program, uint32_t kinds, struct parsers **ret)
{
	struct parsers *p = calloc(1, sizeof(*p));
	int err;

	*ret = NULL;
	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	p->n_users = 1;
	p->cpu_ns = PARSERS_CPU_NS;
	err = starter_new(program, kinds, &p->starter);
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

void parsers_tell_failures(struct parsers *p, struct failures *failures)
{
	p->told = failures;
}

void parsers_note_failure(struct parsers *p, const char *path, const char *lacks, const char *why)
{
	bool is_shown;
	char *sentence;

	pthread_mutex_lock(&p->lock);
	is_shown = p->n_failures++ < PARSERS_SHOWN_FAILURES;
	pthread_mutex_unlock(&p->lock);
	log_message(is_shown ? LOG_WARNING : LOG_DEBUG, "%s %s: its %s", path, lacks, why);
	if (!p->told)
		return;
	if (asprintf(&sentence, "%s %s: its %s", path, lacks, why) < 0)
		sentence = NULL;
	(void)failures_add(p->told, sentence);
}

static void tell_failures(const struct parsers *p)
{
	if (p->n_failures > PARSERS_SHOWN_FAILURES && !log_enabled(LOG_DEBUG))
		log_warning(
			"no tables or names for %zu more binaries: their readers crashed or took too "
			"long (-v names them)",
			p->n_failures - PARSERS_SHOWN_FAILURES);
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
	tell_failures(p);
	while (p->n_idle > 0)
		spawned_end(&p->idle[--p->n_idle].process);
	finders_free(p->finders);
	starter_free(p->starter);
	cpu_budget_drop(p->budget);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return NULL;
}

void parsers_set_cpu_limit(struct parsers *p, uint64_t cpu_ns)
{
	p->cpu_ns = cpu_ns;
}

pid_t parsers_spawner(struct parsers *p)
{
	return p ? starter_spawner(p->starter) : 0;
}

struct starter *parsers_starter(struct parsers *p)
{
	return p->starter;
}

int parsers_use_finders(struct parsers *p)
{
	return p->finders ? 0 : finders_new(p->starter, &p->finders);
}

struct finders *parsers_finders(struct parsers *p)
{
	return p ? p->finders : NULL;
}

uint32_t parsers_layers(struct parsers *p)
{
	return starter_layers(p->starter);
}

static void remove_idle(struct parsers *p, size_t i)
{
	p->n_idle--;
	memmove(&p->idle[i], &p->idle[i + 1], (p->n_idle - i) * sizeof(*p->idle));
}

static int take(struct parsers *p, const struct owner *owner, bool is_new, struct parser *ret)
{
	pthread_mutex_lock(&p->lock);
	for (size_t i = is_new ? 0 : p->n_idle; i-- > 0;) {
		if (!p->idle[i].is_fresh && !owner_equals(&p->idle[i].owner, owner))
			continue;
		*ret = p->idle[i];
		ret->is_fresh = false;
		ret->owner = *owner;
		remove_idle(p, i);
		pthread_mutex_unlock(&p->lock);
		return 0;
	}
	pthread_mutex_unlock(&p->lock);
	*ret = (struct parser){ .owner = *owner };
	return starter_start(p->starter, SPAWNED_PARSER, &ret->process);
}

static void give(struct parsers *p, const struct parser *parser)
{
	struct parser old = { .process.socket = -1 };

	if (spawned_is_worn(&parser->process)) {
		spawned_end(&parser->process);
		return;
	}
	pthread_mutex_lock(&p->lock);
	if (p->n_idle == MAX_IDLE) {
		old = p->idle[0];
		remove_idle(p, 0);
	}
	p->idle[p->n_idle] = *parser;
	p->idle[p->n_idle++].used_ns = clock_now_ns();
	pthread_mutex_unlock(&p->lock);
	if (old.process.socket >= 0)
		spawned_end(&old.process);
}

/* The one that is idle for longest, if that is too long. */
static bool take_unused(struct parsers *p, uint64_t idle_ns, struct parser *ret)
{
	bool is_unused;

	pthread_mutex_lock(&p->lock);
	is_unused = p->n_idle > 0 && clock_now_ns() > p->idle[0].used_ns + idle_ns;
	if (is_unused) {
		*ret = p->idle[0];
		remove_idle(p, 0);
	}
	pthread_mutex_unlock(&p->lock);
	return is_unused;
}

void parsers_rest(struct parsers *p, uint64_t idle_ns)
{
	struct parser parser;

	while (take_unused(p, idle_ns, &parser))
		spawned_end(&parser.process);
}

void parsers_prepare(struct parsers *p)
{
	for (int i = 0; i < PREPARED; i++)
		starter_prepare(p->starter, SPAWNED_PARSER);
}

int parsers_check(struct parsers *p, struct confinement *ret)
{
	struct parser parser = { .is_fresh = true };
	int err = starter_check(p->starter, &parser.process);

	*ret = (struct confinement){ 0 };
	if (err < 0)
		return err;
	*ret = parser.process.confinement;
	if (ret->missing)
		spawned_end(&parser.process);
	else
		give(p, &parser);
	return 0;
}

void parsers_require(struct parsers *p)
{
	starter_require(p->starter);
}

/* NULL: never. */
static bool is_given_up(const bool *ends)
{
	return ends && __atomic_load_n(ends, __ATOMIC_RELAXED);
}

static int wait_for_answer(const struct spawned *parser, struct patience *patience,
			   const bool *ends)
{
	struct pollfd fd = { .fd = parser->socket, .events = POLLIN };

	for (;;) {
		int n = poll(&fd, 1, PATIENCE_LOOK_MS), err;

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (is_given_up(ends))
			return -ECANCELED;
		err = patience_look(patience, parser);
		if (err < 0)
			return err;
	}
}

/* What goes to a parser with a request. */
struct files {
	struct passage file, other;
	int result; /* owned */
};

static int files_init(struct files *ret, const struct parse_request *request)
{
	int err = passage_init(&ret->file, request->fd);

	err = passage_init(&ret->other, request->other) ?: err;
	ret->result = result_file_new("result");
	return ret->result < 0 ? ret->result : err;
}

static void files_done(struct files *files)
{
	passage_done(&files->file);
	passage_done(&files->other);
	if (files->result >= 0)
		close(files->result);
}

static int files_complete(struct files *files, struct finders *finders, uid_t user)
{
	int err = passage_complete(&files->file, finders, user);

	return err < 0 ? err : passage_complete(&files->other, finders, user);
}

/* -EPIPE: the parser had ended before. */
static int send_request(const struct parser *parser, const struct parse_request *request,
			const struct files *files)
{
	struct parser_request message = {
		.kind = request->kind,
		.has_other = request->other >= 0,
		.offset = request->offset,
		.n_wanted = request->n_wanted,
		.has_hint = request->functions.has_hint,
		.has_parts = request->functions.has_parts,
		.has_ends = request->functions.has_ends,
		.jit_kind = request->jit_kind,
		.style = request->style,
		.position = request->position,
		.rows = request->rows,
		.start = request->start,
		.end = request->end,
	};
	const int fds[] = { passage_end(&files->file), files->result, passage_end(&files->other) };

	if (request->n_wanted > DP_MAX_ARGUMENTS)
		return -EINVAL;
	if (request->kind == PARSE_FUNCTIONS) {
		if (strlen(request->functions.pattern) >= sizeof(message.pattern))
			return -ENAMETOOLONG;
		strcpy(message.pattern, request->functions.pattern);
	}
	if (request->kind == PARSE_CONTAINER)
		snprintf(message.container_id, sizeof(message.container_id), "%s",
			 request->container_id);
	for (size_t i = 0; i < request->n_wanted; i++)
		message.wanted[i] = request->wanted[i];
	return message_send(parser->process.socket, &message, sizeof(message), fds,
			    request->other >= 0 ? 3 : 2);
}

static int receive_reply(const struct parser *parser, const struct parse_request *request,
			 uint64_t limit, uint64_t stuck, clockid_t *clock,
			 struct cpu_budget *budget, struct parser_reply *ret)
{
	int fds[MESSAGE_MAX_FDS];
	struct patience patience;
	int err = patience_begin(&parser->process, limit, SPAWNED_STOPPED_NS, false, &patience);

	if (err < 0)
		return err;
	patience.stuck_ns = stuck;
	__atomic_store_n(clock, patience.clock, __ATOMIC_RELAXED);
	err = wait_for_answer(&parser->process, &patience, request->ends);
	__atomic_store_n(clock, 0, __ATOMIC_RELAXED);
	cpu_budget_spend(budget, request->user, patience_cpu_ns(&patience));
	if (err < 0)
		return err;
	err = message_receive(parser->process.socket, ret, sizeof(*ret), fds);
	if (err < 0)
		return err == -EPIPE ? -ECONNABORTED : err;
	message_close(fds);
	return 0;
}

/* Takes a parser that lives; idle ones may have been killed, for example for lack of memory. */
static int begin(struct parsers *p, const struct parse_request *request, const struct owner *owner,
		 bool is_new, const struct files *files, struct parser *ret)
{
	int err;

	for (size_t i = 0; i <= MAX_IDLE; i++) {
		err = take(p, owner, is_new, ret);
		if (err < 0)
			return err;
		err = send_request(ret, request, files);
		if (err == 0)
			return 0;
		spawned_end(&ret->process);
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
	uint64_t limit = p->cpu_ns;
	struct stat st;
	uint64_t mib;

	if (request->other >= 0 && file_stat(request->other, &st) == 0)
		size += stored_size(&st);
	/* Of a part, which has one size. */
	if (request->cpu_ns)
		return request->cpu_ns;
	mib = size >> 20;
	return limit + (mib < PARSERS_MAX_MIB ? mib : PARSERS_MAX_MIB) * (limit / 100);
}

/* No file has this owner, so it gets a parser that has met none. */
static const struct owner no_owner = { (dev_t)-1, (uid_t)-1, false };

/*
 * A parser that gets files of two owners meets no others; nor does one that reads about a
 * container, what a process says or the name of a type: all such files are this process's or
 * root's, but have the words of many.
 */
static bool is_to_be_alone(const struct parse_request *request, const struct owner *owner)
{
	struct stat st;

	return request->kind == PARSE_CONTAINER || request->kind == PARSE_CONTEXT ||
	       request->kind == PARSE_TYPE ||
	       (request->other >= 0 && (file_stat(request->other, &st) < 0 ||
					st.st_dev != owner->device || st.st_uid != owner->user));
}

/* The one whose file system may not answer; -1: there is none. */
static int foreign_of(const struct parse_request *r)
{
	if (r->other >= 0 && file_is_reference(r->other))
		return r->other;
	return file_is_reference(r->fd) ? r->fd : -1;
}

/* If it crashed, takes too long or is wrong, nobody knows what it does. */
static void end_parser(struct parsers *p, const struct parser *parser,
		       const struct parse_request *r, bool is_stuck)
{
	if (!is_stuck) {
		spawned_end(&parser->process);
		return;
	}
	spawned_kill(&parser->process);
	finders_blame(p->finders, r->user, file_device(foreign_of(r)), parser->process.pidfd);
}

static int ask_once(struct parsers *p, const struct parse_request *request, const struct stat *st,
		    bool is_new, clockid_t *clock, struct parse_result *ret)
{
	_cleanup_(files_done) struct files files;
	const struct owner owner = { st->st_dev, st->st_uid, request->kind == PARSE_JIT };
	uint64_t size = stored_size(st);
	uint64_t patience = request->stuck_ns ? request->stuck_ns : PARSERS_STUCK * p->cpu_ns;
	uint64_t stuck = foreign_of(request) >= 0 ? patience : 0;
	bool is_alone = is_to_be_alone(request, &owner), answered, is_stuck = false;
	struct parser_reply reply;
	struct parser parser;
	int err = files_init(&files, request);

	if (err == 0)
		err = begin(p, request, is_alone ? &no_owner : &owner, is_new, &files, &parser);
	if (err < 0)
		return err;
	err = files_complete(&files, p->finders, request->user);
	if (err == 0) {
		err = receive_reply(&parser, request, cpu_limit(p, request, size), stuck, clock,
				    p->budget, &reply);
		is_stuck = err == -ETIMEDOUT;
	}
	answered = err == 0;
	if (answered) {
		starter_note_answer(p->starter);
		err = result_file_seal(files.result);
		if (err == 0)
			err = parser_take(request->kind, &reply, files.result, size, ret);
		if (err == 0)
			limit_hits_pass(&reply.limits);
	}
	if (answered && err != -EPROTO && err != -ECONNABORTED && !is_alone)
		give(p, &parser);
	else
		end_parser(p, &parser, request, is_stuck);
	return err;
}

static int ask(struct parsers *p, const struct parse_request *request, clockid_t *clock,
	       struct parse_result *ret)
{
	struct stat st;
	int err = file_stat(request->fd, &st);

	if (err < 0)
		return err;
	/* It may not have been the file: parsers can be killed for lack of memory, or stopped by somebody. */
	for (int i = 0; i < PARSERS_ATTEMPTS && (i == 0 || err == -ECONNABORTED || err == -EAGAIN);
	     i++)
		err = is_given_up(request->ends) ? -ECANCELED :
						   ask_once(p, request, &st, i > 0, clock, ret);
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
	       starter_give_up(p->starter, "end when they are used");
}

int parsers_ask(struct parsers *p, const struct parse_request *request, clockid_t *clock,
		struct parse_result *ret)
{
	int err;

	*ret = (struct parse_result){ 0 };
	if (!p || starter_is_broken(p->starter))
		return parse_here(request, ret);
	err = ask(p, request, clock, ret);
	/* starter_start() alone returns the first: parser_take() lets none through. */
	if (err == -ESHUTDOWN ||
	    (err == -ECONNABORTED && !starter_has_answered(p->starter) && are_useless(p, clock)))
		return parse_here(request, ret);
	return err;
}

int parsers_digest(struct parsers *p, uid_t user, int fd, struct file_digest *ret)
{
	_cleanup_(parse_result_done) struct parse_result result;
	const struct parse_request request = {
		.kind = PARSE_DIGEST, .fd = fd, .other = -1, .user = user
	};
	clockid_t clock;
	int err = parsers_ask(p, &request, &clock, &result);

	*ret = result.digest;
	return err;
}
