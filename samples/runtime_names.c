// SPDX-License-Identifier: Apache-2.0
#include "samples/runtime_names.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "limits/limits.h"
#include "process/process_table.h"
#include "report/sample.h"
#include "runtimes/runtime.h"
#include "sandbox/process_memory.h"
#include "symbols/code_source.h"
#include "symbols/jit.h"
#include "symbols/module.h"

/* Numbers up to this: code of that kind of runtime which is gone, unreadable, or found no room. */
#define MAX_UNLOADED (DP_N_RUNTIMES - 1)

/* They take half of the memory at most: then code has no lines, but a name. */
#define MAX_POSITIONS (JIT_MEMORY / 2 / (sizeof(struct entry) + sizeof(struct entry *)))

struct code {
	struct code_key {
		uint64_t kind, code, tag;
	} key;
	struct runtime_code *code; /* owned */
	UT_hash_handle hh;
};

/* A position in code, or a place that it is at: the column, if that is known, and the line. */
struct entry {
	struct key {
		uint64_t kind, code, tag, position;
	} key;
	uint64_t number;
	bool is_wanted;   /* of the thread that puts: runtime_names_want() */
	bool is_located;  /* of the thread that reads, as is the next one */
	uint8_t n_missed; /* how often it was looked for in vain */
	/* Protected by the lock: */
	bool is_near;      /* the located ones are those of a place near it */
	uint32_t n_put;    /* how often samples had it */
	uint64_t located;  /* for jit_find() */
	uint64_t *inlined; /* owned: if there are several; `located` is not used then */
	size_t n_inlined;
	UT_hash_handle hh;
};

#define COLUMN_SHIFT 32

/* A place, symbolized: code that is loaded twice has two keys, but one location. */
struct symbolized {
	uint64_t located;
	size_t size;
	UT_hash_handle hh;
	char text[]; /* the place, function and file; not terminated */
};

struct runtime_names {
	struct code_source source;
	struct module *module;
	/* By kind; NULL: not met. Owned; the thread that puts sets each once. */
	void *layouts[DP_N_RUNTIMES];
	/* Of the thread that reads: */
	struct process_memory memory;
	struct code *codes;
	struct entry *places;
	struct symbolized *symbolized;
	uint64_t given;       /* of the thread that locates */
	pthread_mutex_t lock; /* protects what follows; held only briefly */
	struct entry unloaded[DP_N_RUNTIMES];
	struct entry *entries;
	struct entry **numbered; /* those behind MAX_UNLOADED */
	size_t n_numbered, numbered_size, n_positions;
};

static void free_entries(struct entry *entries)
{
	struct entry *e, *next;

	HASH_ITER(hh, entries, e, next) {
		HASH_DEL(entries, e);
		free(e->inlined);
		free(e);
	}
}

static void forget(struct runtime_names *n, struct code *c)
{
	HASH_DEL(n->codes, c);
	free(c->code);
	free(c);
}

static void names_free_source(struct code_source *source)
{
	struct runtime_names *n = (struct runtime_names *)source;
	struct symbolized *symbolized, *next_symbolized;
	struct code *c, *next;

	HASH_ITER(hh, n->codes, c, next)
		forget(n, c);
	HASH_ITER(hh, n->symbolized, symbolized, next_symbolized) {
		HASH_DEL(n->symbolized, symbolized);
		free(symbolized);
	}
	free_entries(n->entries);
	free_entries(n->places);
	free(n->numbered);
	for (size_t i = 0; i < DP_N_RUNTIMES; i++)
		free(n->layouts[i]);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

/* Adds an entry with this key. NULL: there is no memory for it. */
static struct entry *add(struct entry **entries, const struct key *key)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->key = *key;
	HASH_ADD(hh, *entries, key, sizeof(e->key), e);
	if (HASH_IS_ADDED(hh, e))
		return e;
	free(e);
	return NULL;
}

/* A runtime that has been met. */
struct known {
	uint64_t kind;
	const struct runtime_source *runtime;
	const void *layout;
};

/* 0: memory is short. */
static uint64_t locate_unloaded(struct runtime_names *n, const struct known *known)
{
	const struct source_location location = { .function = known->runtime->unloaded };
	struct entry *e = &n->unloaded[known->kind];
	uint64_t located;

	if (e->is_located)
		return e->located;
	if (jit_add(n->module->jit, &location, &located) < 0)
		return 0;
	pthread_mutex_lock(&n->lock);
	e->located = located;
	pthread_mutex_unlock(&n->lock);
	e->is_located = true;
	return located;
}

/* Is there room for code that is kept? */
static bool has_room(struct runtime_names *n, const struct runtime_code *code)
{
	size_t size = sizeof(struct code) + sizeof(*code) + code->lines_size;

	return code->lines_size == 0 || jit_take_memory(n->module->jit, size);
}

static void forget_memory(void *arg)
{
	process_memory_forget(arg);
}

/* The code of a frame, from memory if it is not kept. 0 or a negative errno. */
static int find_code(struct runtime_names *n, const struct known *known,
		     const struct dp_runtime_frame *frame, struct code **ret)
{
	const struct runtime_memory memory = { process_memory_read, &n->memory, forget_memory };
	const struct code_key key = { known->kind, frame->code, frame->tag };
	struct code *c;
	int err;

	HASH_FIND(hh, n->codes, &key, sizeof(key), c);
	*ret = c;
	if (c)
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	process_memory_forget(&n->memory);
	err = n->memory.err ?: known->runtime->read(known->layout, frame, &memory, &c->code);
	if (err == 0 && !has_room(n, c->code))
		err = -ENOSPC;
	if (err == 0) {
		c->key = key;
		HASH_ADD(hh, n->codes, key, sizeof(c->key), c);
		err = HASH_IS_ADDED(hh, c) ? 0 : -ENOMEM;
	}
	if (err < 0) {
		free(c->code);
		free(c);
		return err;
	}
	*ret = c;
	return 0;
}

static struct symbolized *make_symbolized(const struct runtime_code *code, uint64_t place)
{
	size_t function = strlen(code->function) + 1, file = strlen(code->file);
	struct symbolized *symbolized =
		calloc(1, sizeof(*symbolized) + sizeof(place) + function + file);

	if (!symbolized)
		return NULL;
	symbolized->size = sizeof(place) + function + file;
	memcpy(symbolized->text, &place, sizeof(place));
	memcpy(symbolized->text + sizeof(place), code->function, function);
	memcpy(symbolized->text + sizeof(place) + function, code->file, file);
	return symbolized;
}

/* The location of a place, symbolized. 0 or a negative errno. */
static int find_symbolized(struct runtime_names *n, const struct runtime_code *code, uint64_t place,
			   uint64_t *ret)
{
	_cleanup_free_ struct symbolized *symbolized = make_symbolized(code, place);
	const struct source_location location = {
		.function = code->function,
		.file = code->file,
		.line = (unsigned int)place,
		.column = (unsigned int)(place >> COLUMN_SHIFT),
	};
	struct symbolized *known;
	int err;

	if (!symbolized)
		return -ENOMEM;
	HASH_FIND(hh, n->symbolized, symbolized->text, symbolized->size, known);
	if (known) {
		*ret = known->located;
		return 0;
	}
	/* jit_add() counts the text, too, but has no limit. */
	if (!jit_take_memory(n->module->jit, sizeof(*symbolized) + 2 * symbolized->size))
		return -ENOSPC;
	err = jit_add(n->module->jit, &location, &symbolized->located);
	if (err < 0)
		return err;
	*ret = symbolized->located;
	known = steal_ptr(symbolized);
	HASH_ADD(hh, n->symbolized, text, known->size, known);
	if (!HASH_IS_ADDED(hh, known))
		free(known);
	return 0;
}

/* The location of a place in code, which is added if it is new. 0 or a negative errno. */
static int find_place(struct runtime_names *n, const struct code *c, uint64_t place, uint64_t *ret)
{
	const struct key key = { c->key.kind, c->key.code, c->key.tag, place };
	struct entry *e;
	int err;

	HASH_FIND(hh, n->places, &key, sizeof(key), e);
	if (e) {
		*ret = e->located;
		return 0;
	}
	if (!jit_take_memory(n->module->jit, sizeof(*e)))
		return -ENOSPC;
	err = find_symbolized(n, c->code, place, ret);
	e = err == 0 ? add(&n->places, &key) : NULL;
	if (e)
		e->located = *ret;
	return err;
}

static uint64_t place_of(const struct known *known, const struct runtime_code *code,
			 const struct dp_runtime_frame *frame)
{
	const struct runtime_source *runtime = known->runtime;
	uint64_t column = runtime->column ? runtime->column(known->layout, code, frame) : 0;

	return column << COLUMN_SHIFT | runtime->line(known->layout, code, frame);
}

/* The location of a frame, which may be that of others at the same place. 0 or a negative errno. */
static int find_frame(struct runtime_names *n, const struct known *known,
		      const struct dp_runtime_frame *frame, uint64_t *ret)
{
	struct code *c;
	int err = find_code(n, known, frame, &c);

	if (err < 0)
		return err;
	err = find_place(n, c, place_of(known, c->code, frame), ret);
	/* It has one line, so it is hardly needed again. */
	if (c->code->lines_size == 0)
		forget(n, c);
	return err;
}

/* Finds the functions that were inlined at a frame's position. 1: there are none. */
static int find_inlined(struct runtime_names *n, const struct known *known,
			const struct dp_runtime_frame *frame, struct entry *e)
{
	const struct runtime_memory memory = { process_memory_read, &n->memory };
	struct dp_runtime_frame frames[RUNTIME_MAX_INLINED], again[RUNTIME_MAX_INLINED];
	_cleanup_free_ uint64_t *located = NULL;
	int count, err = 0;

	process_memory_forget(&n->memory);
	count = n->memory.err ?: known->runtime->expand(known->layout, frame, &memory, frames);
	if (count <= 0)
		return count ?: 1;
	located = calloc((size_t)count, sizeof(*located));
	if (!located)
		return -ENOMEM;
	for (int i = 0; err == 0 && i < count; i++) {
		struct dp_runtime_frame at = frames[i];

		at.position &= ~known->runtime->near;
		err = find_frame(n, known, &at, &located[i]);
	}
	if (err < 0)
		return err;
	/* What has been named is there as long as the code that it is inlined into. */
	process_memory_forget(&n->memory);
	if (known->runtime->expand(known->layout, frame, &memory, again) != count ||
	    memcmp(frames, again, (size_t)count * sizeof(*frames)) != 0)
		return -ESTALE;
	if (!jit_take_memory(n->module->jit, (size_t)count * sizeof(*located)))
		return -ENOSPC;
	e->inlined = steal_ptr(located);
	e->n_inlined = (size_t)count;
	e->is_near = (frames[0].position & known->runtime->near) != 0;
	return 0;
}

/* The name of code without what is inlined there, if it is kept: that is the same at each position. */
static struct entry *find_own(const struct runtime_names *n, const struct known *known,
			      const struct dp_runtime_frame *frame)
{
	const struct key key = { known->kind, frame->code, frame->tag, 0 };
	struct entry *own;

	HASH_FIND(hh, n->places, &key, sizeof(key), own);
	return own;
}

/* Positions of code are read one by one, and the last ones when it may be gone: then its name is known. */
static int find_all(struct runtime_names *n, const struct known *known, struct entry *e)
{
	const struct dp_runtime_frame frame = { e->key.code, e->key.position, e->key.tag };
	int err = known->runtime->expand ? find_inlined(n, known, &frame, e) : 1;
	struct entry *own = err != 1 ? find_own(n, known, &frame) : NULL;
	uint64_t located;

	if (err == 0 && !own)
		(void)find_frame(n, known, &frame, &located);
	/* Memory that is slow to read has what is inlined, later. */
	if (err == 0 || err == -ETIMEDOUT || err == -EAGAIN)
		return err;
	/* It may be kept with lines. */
	if (!own)
		return find_frame(n, known, &frame, &e->located);
	e->located = own->located;
	return 0;
}

/*
 * Memory that was slow to read may be there for the next sample. What is not found may be when a later
 * sample has it: code may have been freed and made again. It is looked for when twice as many samples have
 * had it, so that code that stays away costs nearly nothing.
 */
static bool is_time_to_look(const struct entry *e, uint32_t n_put)
{
	return !e->is_located || (e->n_missed > 0 && e->n_missed < 32 && n_put >> e->n_missed > 0);
}

/* The entry of a number, with its runtime and how often it was put. NULL: there is none. */
static struct entry *find_entry(struct runtime_names *n, uint64_t number, struct known *ret,
				uint32_t *ret_n_put)
{
	struct entry *e = NULL;

	pthread_mutex_lock(&n->lock);
	if (number > MAX_UNLOADED && number - MAX_UNLOADED <= n->n_numbered)
		e = n->numbered[number - MAX_UNLOADED - 1];
	*ret_n_put = e ? e->n_put : 0;
	ret->kind = e ? e->key.kind : number;
	ret->layout = ret->kind < DP_N_RUNTIMES ? n->layouts[ret->kind] : NULL;
	pthread_mutex_unlock(&n->lock);
	if (!ret->layout)
		return NULL;
	ret->runtime = runtime_source((unsigned int)ret->kind);
	return e ?: &n->unloaded[ret->kind];
}

/* Makes known what has been read of an entry, with this result. */
static void publish(struct runtime_names *n, struct entry *e, const struct entry *found, int err)
{
	pthread_mutex_lock(&n->lock);
	e->located = found->located;
	e->inlined = found->inlined;
	e->n_inlined = found->n_inlined;
	e->is_near = found->is_near;
	pthread_mutex_unlock(&n->lock);
	e->is_located = err != -ETIMEDOUT && err != -EAGAIN;
	e->n_missed = err == 0 ? 0 : (uint8_t)(e->n_missed + e->is_located);
}

static void names_read(struct code_source *source, uint64_t number)
{
	struct runtime_names *n = (struct runtime_names *)source;
	struct entry found = { 0 };
	struct known known;
	uint32_t n_put;
	struct entry *e = find_entry(n, number, &known, &n_put);
	int err;

	if (e && e == &n->unloaded[known.kind])
		(void)locate_unloaded(n, &known);
	else if (e && is_time_to_look(e, n_put)) {
		found.key = e->key;
		err = find_all(n, &known, &found);
		if (err < 0)
			found.located = locate_unloaded(n, &known);
		publish(n, e, &found, err);
	}
}

static size_t names_locate(struct code_source *source, uint64_t number, const uint64_t **ret,
			   bool *ret_is_near)
{
	struct runtime_names *n = (struct runtime_names *)source;
	struct known known;
	uint32_t n_put;
	const struct entry *e = find_entry(n, number, &known, &n_put);
	size_t count;

	if (!e)
		return 0;
	pthread_mutex_lock(&n->lock);
	n->given = e->located;
	*ret = e->inlined ?: &n->given;
	*ret_is_near = e->is_near;
	count = e->inlined ? e->n_inlined : 1;
	pthread_mutex_unlock(&n->lock);
	return count;
}

/* NULL: memory is short. */
static struct runtime_names *make(struct module *module, struct fetchers *fetchers, pid_t pid)
{
	struct runtime_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->source = (struct code_source){ names_read, names_locate, names_free_source };
	n->module = module;
	process_memory_init(&n->memory, fetchers, pid);
	pthread_mutex_init(&n->lock, NULL);
	module->code = &n->source;
	return n;
}

/* Keeps the layout of a kind that is met for the first time. False: memory is short. */
static bool keep_layout(struct runtime_names *n, unsigned int kind, const void *layout)
{
	size_t size = runtime_source(kind)->layout_size;
	void *copy;

	/* Only this thread sets it. */
	if (n->layouts[kind])
		return true;
	copy = malloc(size);
	if (!copy)
		return false;
	memcpy(copy, layout, size);
	pthread_mutex_lock(&n->lock);
	n->layouts[kind] = copy;
	pthread_mutex_unlock(&n->lock);
	return true;
}

struct runtime_names *runtime_names_find(struct process_table *table, struct process *p,
					 unsigned int kind, const void *layout)
{
	struct runtime_names *n;

	if (!p->jitted)
		p->jitted = jitted_new(&table->jitted, p->pid);
	if (!p->jitted)
		return NULL;
	jitted_meet(p->jitted);
	n = (struct runtime_names *)p->jitted->module->code;
	if (!n)
		n = make(p->jitted->module, table->name_fetchers, p->thread);
	return n && keep_layout(n, kind, layout) ? n : NULL;
}

static uint64_t put(struct runtime_names *n, const struct key *key)
{
	bool has_position = (key->position & ~runtime_source((unsigned int)key->kind)->kinds) != 0;
	struct entry *e;

	HASH_FIND(hh, n->entries, key, sizeof(*key), e);
	if (e) {
		e->n_put += e->n_put < UINT32_MAX;
		return e->number;
	}
	if ((has_position && n->n_positions == MAX_POSITIONS) ||
	    !jit_take_memory(n->module->jit, sizeof(*e) + sizeof(e)) ||
	    array_reserve(n->numbered, n->n_numbered, n->numbered_size) < 0)
		return key->kind;
	e = add(&n->entries, key);
	if (!e)
		return key->kind;
	e->n_put = 1;
	n->numbered[n->n_numbered++] = e;
	n->n_positions += has_position;
	return e->number = MAX_UNLOADED + n->n_numbered;
}

uint64_t runtime_names_put(struct runtime_names *n, unsigned int kind,
			   const struct dp_runtime_frame *frame)
{
	struct key key = { kind, frame->code, frame->tag, frame->position & ~DP_RUNTIME_ENTRY };
	uint64_t number;

	pthread_mutex_lock(&n->lock);
	number = put(n, &key);
	if (number == kind) {
		key.position &= runtime_source(kind)->kinds;
		number = put(n, &key);
	}
	pthread_mutex_unlock(&n->lock);
	return number;
}

bool runtime_names_want(const struct frame *frame)
{
	struct runtime_names *n =
		frame->module ? (struct runtime_names *)frame->module->code : NULL;
	uint64_t number = frame->offset;
	struct entry *e;

	/* Only this thread adds any. */
	if (!n || !frame_is_interpreted(frame) || number <= MAX_UNLOADED ||
	    number - MAX_UNLOADED > n->n_numbered)
		return false;
	e = n->numbered[number - MAX_UNLOADED - 1];
	if (e->is_wanted)
		return false;
	e->is_wanted = true;
	return true;
}
