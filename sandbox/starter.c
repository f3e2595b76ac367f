// SPDX-License-Identifier: Apache-2.0
#include "sandbox/starter.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "log/clock.h"
#include "log/log.h"
#include "sandbox/hello.h"

/* How often one is started that ends at once, or does so for long. */
#define STARTS 3
#define STARTS_NS UINT64_C(4000000000)

struct starter {
	char *program;
	pthread_mutex_t lock; /* protects what follows */
	struct spawner *spawner;
	unsigned int n_spawners; /* so far */
	bool is_required;        /* this process does nothing itself, come what may */
	bool has_started;        /* any of them */
	bool has_answered;       /* any of them */
	bool is_broken;          /* none could be started, or none answers, and none ever did */
	uint32_t accepted;       /* layers that no helper has, without a reason */
	uint32_t layers;
};

int starter_new(const char *program, struct starter **ret)
{
	struct starter *s = calloc(1, sizeof(*s));
	int err;

	*ret = NULL;
	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	s->program = strdup(program);
	err = s->program ? spawner_new(program, &s->spawner) : -ENOMEM;
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
	spawner_free(s->spawner);
	pthread_mutex_destroy(&s->lock);
	free(s->program);
	free(s);
	return NULL;
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
	return read_flag(s, &s->is_broken);
}

bool starter_has_answered(struct starter *s)
{
	return read_flag(s, &s->has_answered);
}

void starter_note_answer(struct starter *s)
{
	pthread_mutex_lock(&s->lock);
	s->has_answered = true;
	pthread_mutex_unlock(&s->lock);
}

uint32_t starter_layers(struct starter *s)
{
	uint32_t layers;

	pthread_mutex_lock(&s->lock);
	layers = s->layers;
	pthread_mutex_unlock(&s->lock);
	return layers;
}

/*
 * From now on this process parses the files, if no helper has ever started, or answered. Otherwise it
 * may be better later. Returns whether it does.
 */
static bool give_up(struct starter *s, bool has_started, const char *why)
{
	bool is_first, broken;

	pthread_mutex_lock(&s->lock);
	is_first = !s->is_broken && !s->is_required && !s->has_answered &&
		   s->has_started <= has_started;
	s->is_broken |= is_first;
	broken = s->is_broken;
	pthread_mutex_unlock(&s->lock);
	if (is_first)
		log_warning("this process parses all files itself, with its rights: parsers %s",
			    why);
	return broken;
}

bool starter_give_up(struct starter *s, const char *why)
{
	return give_up(s, true, why);
}

static bool has_no_spawner(struct starter *s)
{
	bool none;

	pthread_mutex_lock(&s->lock);
	none = !s->spawner || spawner_has_ended(s->spawner);
	pthread_mutex_unlock(&s->lock);
	return none;
}

/* Another spawner takes its place, if none has yet. The number is that of request(). */
static void replace_spawner(struct starter *s, unsigned int number)
{
	struct spawner *old = NULL;

	pthread_mutex_lock(&s->lock);
	if (s->n_spawners == number) {
		old = steal_ptr(s->spawner);
		(void)spawner_new(s->program, &s->spawner);
		s->n_spawners++;
	}
	pthread_mutex_unlock(&s->lock);
	spawner_free(old);
}

static int request(struct starter *s, enum spawned_kind kind, unsigned int *ret_number,
		   int *ret_socket)
{
	int err = -EPIPE;

	pthread_mutex_lock(&s->lock);
	*ret_number = s->n_spawners;
	if (s->spawner && !spawner_has_ended(s->spawner))
		err = spawner_request(s->spawner, kind, ret_socket);
	pthread_mutex_unlock(&s->lock);
	return err;
}

/*
 * Does the helper have the layers that it can have? While memory is short, others may fare better. If
 * none ever did, those are used: this process would have no layer at all.
 */
static bool is_confined(struct starter *s, enum spawned_kind kind, const struct confinement *c,
			bool is_last)
{
	char list[CONFINE_LIST_SIZE];
	uint32_t missing;

	pthread_mutex_lock(&s->lock);
	missing = c->missing & ~s->accepted;
	if (missing && is_last && !s->has_started && !s->is_required) {
		log_warning("parsers of files are confined less than they could be, without %s",
			    confine_list(c->missing, list));
		s->accepted |= missing;
		missing = 0;
	}
	if (!missing) {
		s->has_started = true;
		/* A fetcher needs other ones. */
		if (kind != SPAWNED_FETCHER)
			s->layers = c->layers;
	}
	pthread_mutex_unlock(&s->lock);
	return !missing;
}

/* Waits without the lock, so that others can have files parsed. */
static int start_any(struct starter *s, enum spawned_kind kind, struct spawned *ret)
{
	unsigned int number;
	int socket, err = request(s, kind, &number, &socket);

	if (err == 0)
		err = hello_await(socket, ret);
	if (err == -EAGAIN || has_no_spawner(s))
		replace_spawner(s, number);
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
	uint64_t end_ns = clock_now_ns() + STARTS_NS;
	int err = -EAGAIN;

	if (starter_is_broken(s))
		return -ESHUTDOWN;
	for (int i = 0; i < STARTS; i++) {
		bool is_last = i == STARTS - 1 || clock_now_ns() > end_ns;

		err = start_once(s, kind, is_last, ret);
		if (err == 0 || is_last)
			break;
	}
	if (err == 0)
		return 0;
	return give_up(s, false, "cannot be started") ? -ESHUTDOWN : -EAGAIN;
}

int starter_check(struct starter *s, struct confinement *ret)
{
	struct spawned parser;
	int err = -EAGAIN;

	*ret = (struct confinement){ 0 };
	for (int i = 0; i < STARTS; i++) {
		err = start_any(s, SPAWNED_PARSER, &parser);
		if (err < 0)
			continue;
		*ret = parser.confinement;
		spawned_end(&parser);
		if (!ret->missing)
			return 0;
	}
	return ret->missing ? 0 : err;
}
