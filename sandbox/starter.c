// SPDX-License-Identifier: Apache-2.0
#include "sandbox/starter.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "sandbox/hello.h"
#include "sandbox/keeper.h"

/* How often one is started that ends at once, or does so for long. */
#define STARTS 3
/* The most helpers that have been asked for in advance. */
#define MAX_PREPARED 4

/*
 * What is known of helpers. Fetchers and finders start in another way, and need other layers, than those
 * that parse.
 */
struct experience {
	bool has_started;  /* any of them */
	bool has_answered; /* any of them */
	bool is_broken;    /* none could be started, or none answers, and none ever did */
	uint32_t accepted; /* layers that no helper has, without a reason */
	uint32_t layers;
};

/* Asked of a spawner, and not yet waited for. */
struct prepared {
	enum spawned_kind kind;
	unsigned int number; /* of the spawner */
	pid_t spawner;
	int socket;
};

struct starter {
	char *program;
	uint32_t kinds;
	pthread_mutex_t lock; /* protects what follows */
	struct spawner *spawner;
	struct spawner *replaced; /* the last one: it ends */
	unsigned int n_spawners;  /* so far */
	struct prepared prepared[MAX_PREPARED];
	size_t n_prepared;
	bool is_required; /* this process does nothing itself, come what may */
	struct experience parsers, fetchers, finders;
};

/* For messages. */
static const struct {
	const char *name, *does, *are;
} texts[SPAWNED_N_KINDS] = {
	[SPAWNED_PARSER] = { "parsers", "parses all files", "parsers of files" },
	[SPAWNED_NAMER] = { "parsers", "parses all files", "parsers of files" },
	[SPAWNED_VERIFIER] = { "parsers", "parses all files", "parsers of files" },
	[SPAWNED_FETCHER] = { "fetchers", "reads the memory of others", "readers of memory" },
	[SPAWNED_FINDER] = { "finders", "opens all files", "openers of files" },
};

int starter_new(const char *program, uint32_t kinds, struct starter **ret)
{
	struct starter *s = calloc(1, sizeof(*s));
	int err;

	*ret = NULL;
	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	s->kinds = kinds;
	s->program = strdup(program);
	err = s->program ? spawner_new(program, kinds, &s->spawner) : -ENOMEM;
	if (err < 0) {
		starter_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

struct starter *starter_free(struct starter *s)
{
	if (!s)
		return NULL;
	while (s->n_prepared > 0)
		close(s->prepared[--s->n_prepared].socket); /* it ends */
	spawner_free(s->spawner);
	spawner_free(s->replaced);
	pthread_mutex_destroy(&s->lock);
	free(s->program);
	free(s);
	return NULL;
}

pid_t starter_spawner(struct starter *s)
{
	pid_t pid;

	pthread_mutex_lock(&s->lock);
	pid = s->spawner ? spawner_pid(s->spawner) : 0;
	pthread_mutex_unlock(&s->lock);
	return pid;
}

void starter_require(struct starter *s)
{
	pthread_mutex_lock(&s->lock);
	s->is_required = true;
	pthread_mutex_unlock(&s->lock);
}

static bool read_flag(struct starter *s, const bool *flag)
{
	bool value;

	pthread_mutex_lock(&s->lock);
	value = *flag;
	pthread_mutex_unlock(&s->lock);
	return value;
}

bool starter_is_required(struct starter *s)
{
	return read_flag(s, &s->is_required);
}

bool starter_is_broken(struct starter *s)
{
	return read_flag(s, &s->parsers.is_broken);
}

bool starter_has_answered(struct starter *s)
{
	return read_flag(s, &s->parsers.has_answered);
}

void starter_note_answer(struct starter *s)
{
	pthread_mutex_lock(&s->lock);
	s->parsers.has_answered = true;
	pthread_mutex_unlock(&s->lock);
}

uint32_t starter_layers(struct starter *s)
{
	uint32_t layers;

	pthread_mutex_lock(&s->lock);
	layers = s->parsers.layers;
	pthread_mutex_unlock(&s->lock);
	return layers;
}

static struct experience *experience_of(struct starter *s, enum spawned_kind kind)
{
	if (kind == SPAWNED_FINDER)
		return &s->finders;
	return kind == SPAWNED_FETCHER ? &s->fetchers : &s->parsers;
}

/*
 * From now on this process does what is theirs, if no helper has ever started, or answered. Otherwise
 * it may be better later. Returns whether it does.
 */
static bool give_up(struct starter *s, enum spawned_kind kind, bool has_started, const char *why)
{
	struct experience *e = experience_of(s, kind);
	bool is_first, broken;

	pthread_mutex_lock(&s->lock);
	is_first = !e->is_broken && !s->is_required && !e->has_answered &&
		   e->has_started <= has_started;
	e->is_broken |= is_first;
	broken = e->is_broken;
	pthread_mutex_unlock(&s->lock);
	if (is_first)
		log_warning("this process %s itself, with its rights: %s %s", texts[kind].does,
			    texts[kind].name, why);
	return broken;
}

bool starter_give_up(struct starter *s, const char *why)
{
	return give_up(s, SPAWNED_PARSER, true, why);
}

static bool has_no_spawner(struct starter *s)
{
	bool none;

	pthread_mutex_lock(&s->lock);
	none = !s->spawner || spawner_has_ended(s->spawner);
	pthread_mutex_unlock(&s->lock);
	return none;
}

/*
 * Another spawner takes its place, if none has yet. The number is that of the old one. The thread that
 * reads samples does not wait for the end of the old one. A process that has given up its rights can start
 * no other, and keeps the one that it has.
 */
static void replace_spawner(struct starter *s, unsigned int number)
{
	struct spawner *old = NULL;

	if (keeper_is_there())
		return;
	pthread_mutex_lock(&s->lock);
	if (s->n_spawners == number) {
		old = s->replaced;
		s->replaced = steal_ptr(s->spawner);
		spawner_kill(s->replaced);
		(void)spawner_new(s->program, s->kinds, &s->spawner);
		s->n_spawners++;
	}
	pthread_mutex_unlock(&s->lock);
	spawner_free(old);
}

/* The lock is held. */
static int request_new(struct starter *s, enum spawned_kind kind, struct prepared *ret)
{
	*ret = (struct prepared){ .kind = kind, .number = s->n_spawners, .socket = -1 };
	if (!s->spawner || spawner_has_ended(s->spawner))
		return -EPIPE;
	return spawner_request(s->spawner, kind, &ret->spawner, &ret->socket);
}

/* The lock is held. */
static bool take_prepared(struct starter *s, enum spawned_kind kind, struct prepared *ret)
{
	for (size_t i = 0; i < s->n_prepared; i++) {
		if (s->prepared[i].kind != kind)
			continue;
		*ret = s->prepared[i];
		s->prepared[i] = s->prepared[--s->n_prepared];
		return true;
	}
	return false;
}

static int request(struct starter *s, enum spawned_kind kind, struct prepared *ret)
{
	int err = 0;

	pthread_mutex_lock(&s->lock);
	if (!take_prepared(s, kind, ret))
		err = request_new(s, kind, ret);
	pthread_mutex_unlock(&s->lock);
	return err;
}

void starter_prepare(struct starter *s, enum spawned_kind kind)
{
	pthread_mutex_lock(&s->lock);
	if (s->n_prepared < MAX_PREPARED && request_new(s, kind, &s->prepared[s->n_prepared]) == 0)
		s->n_prepared++;
	pthread_mutex_unlock(&s->lock);
}

/*
 * Does the helper have the layers that it can have? While memory is short, others may fare better. If
 * none ever did, those are used: this process would have no layer at all.
 */
static bool is_confined(struct starter *s, enum spawned_kind kind, const struct confinement *c,
			bool is_last)
{
	struct experience *e = experience_of(s, kind);
	char list[CONFINE_LIST_SIZE];
	uint32_t missing;

	pthread_mutex_lock(&s->lock);
	missing = c->missing & ~e->accepted;
	if (missing && is_last && !e->has_started && !s->is_required) {
		log_warning("%s are confined less than they could be, without %s", texts[kind].are,
			    confine_list(c->missing, list));
		e->accepted |= missing;
		missing = 0;
	}
	if (!missing) {
		e->has_started = true;
		e->layers = c->layers;
	}
	pthread_mutex_unlock(&s->lock);
	return !missing;
}

/* Waits without the lock, so that others can have files parsed. */
static int start_any(struct starter *s, enum spawned_kind kind, struct spawned *ret)
{
	struct prepared prepared;
	int err = request(s, kind, &prepared);

	if (err == 0)
		err = hello_await(prepared.socket, prepared.spawner, ret);
	if (err == -EAGAIN || has_no_spawner(s))
		replace_spawner(s, prepared.number);
	return err;
}

static int start_once(struct starter *s, enum spawned_kind kind, bool is_last, struct spawned *ret)
{
	int err = start_any(s, kind, ret);

	if (err < 0 || is_confined(s, kind, &ret->confinement, is_last))
		return err;
	spawned_end(ret);
	return -EAGAIN;
}

int starter_start(struct starter *s, enum spawned_kind kind, struct spawned *ret)
{
	uint64_t end_ns = clock_now_ns() + STARTER_NS;
	int err = -EAGAIN;

	if (read_flag(s, &experience_of(s, kind)->is_broken))
		return -ESHUTDOWN;
	for (int i = 0; i < STARTS; i++) {
		bool is_last = i == STARTS - 1 || clock_now_ns() > end_ns;

		err = start_once(s, kind, is_last, ret);
		if (err == 0 || is_last)
			break;
	}
	if (err == 0)
		return 0;
	return give_up(s, kind, false, "cannot be started") ? -ESHUTDOWN : -EAGAIN;
}

int starter_begin(struct starter *s, enum spawned_kind kind, int *ret_socket)
{
	struct prepared prepared;
	int err = request(s, kind, &prepared);

	if (err < 0 && has_no_spawner(s)) {
		replace_spawner(s, prepared.number);
		err = request(s, kind, &prepared);
	}
	*ret_socket = prepared.socket;
	return err < 0 ? -EAGAIN : 0;
}

int starter_finish(struct starter *s, enum spawned_kind kind, int socket, struct spawned *ret)
{
	int err = hello_take(socket, ret);

	if (err < 0 || is_confined(s, kind, &ret->confinement, false))
		return err < 0 ? -EAGAIN : 0;
	spawned_end(ret);
	return -EAGAIN;
}

int starter_check(struct starter *s, struct spawned *ret)
{
	struct spawned last = { .socket = -1 };
	int err = -EAGAIN;

	for (int i = 0; i < STARTS; i++) {
		err = start_any(s, SPAWNED_PARSER, ret);
		if (err < 0)
			continue;
		if (last.socket >= 0)
			spawned_end(&last);
		last = *ret;
		if (is_confined(s, SPAWNED_PARSER, &last.confinement, false))
			return 0;
	}
	*ret = last;
	return last.socket >= 0 ? 0 : err;
}
