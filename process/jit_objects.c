// SPDX-License-Identifier: Apache-2.0
#include "process/jit_objects.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "process/jit_copy.h"
#include "process/process_table.h"
#include "sandbox/fetchers.h"

/* From one look to the next: as long as there is something new, and if there is not. */
#define FIRST_PAUSE_NS UINT64_C(20000000)
#define LAST_PAUSE_NS UINT64_C(200000000)
/* And so many times what a look has taken, in CPU time, and in all: it may have been preempted. */
#define PAUSE_CPU_SHARE 100
#define PAUSE_SHARE 10
/* Until what there was no room for, or what could not be read, is copied again: each time twice as long. */
#define FIRST_RETRY_NS UINT64_C(1000000000)
#define LAST_RETRY_NS UINT64_C(64000000000)
/* A program and its libraries may have a compiler each. */
#define N_LISTS 4

/* As in the process's memory, by the interface's first version, the only one. */
struct descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};

struct list_entry {
	uint64_t next, previous, file, size;
};

/* It may be so long that several looks walk along it, and change meanwhile. */
struct list {
	uint64_t at;             /* the descriptor, */
	uint64_t code;           /* and where a mapping of its binary begins */
	uint64_t next, previous; /* the walk goes on between these; 0: it begins, */
	size_t n_walked;         /* after so many entries */
	unsigned int n_failed;   /* walks, in sequence */
};

struct object {
	uint64_t list, at; /* the addresses of its list's descriptor and its entry */
	struct list_entry entry;
	uint64_t hash;
	struct binary *binary; /* held; NULL: it is not used */
	uint64_t retry;        /* then: when it is copied again; 0: not before it is another one */
	uint64_t waited;       /* how long it has waited for that the last time */
	uint64_t low, high;    /* all its code, once it is ready */
	size_t n_code;         /* segments of that */
	bool is_listed;        /* met in this walk */
	bool is_mapped;        /* or it has no code */
};

struct jit_objects {
	struct list lists[N_LISTS];
	size_t n_lists, turn; /* this list is the first to be read */
	struct object *objects;
	size_t n, size;
	uint64_t bytes;       /* copied, of these, */
	size_t n_code;        /* and segments of code */
	size_t n_copied;      /* in this look */
	uint64_t low, high;   /* all code of these is within */
	bool is_left;         /* the next look can find more, without new samples */
	bool is_pending;      /* some object is not mapped */
	uint64_t n_generated; /* the process's, at the last look */
	uint64_t next, pause; /* when to look again, and after that */
};

/* One at the lists of a process. */
struct look {
	struct process_table *table;
	struct process *process;
	struct jit_objects *objects; /* its own */
	uint64_t now;
	uint64_t until;
};

static uint64_t descriptor_of(const struct mapping *m)
{
	return m->binary->elf.jit_descriptor == 0 ? 0 : m->bias + m->binary->elf.jit_descriptor;
}

void jit_objects_meet(struct process *p, const struct mapping *m)
{
	struct jit_objects *o = p->jit_objects;
	uint64_t at = descriptor_of(m);

	if (at == 0)
		return;
	if (!o)
		o = p->jit_objects = calloc(1, sizeof(*o));
	for (size_t i = 0; o && i < o->n_lists; i++)
		if (o->lists[i].at == at)
			return;
	if (!o || o->n_lists == N_LISTS)
		return;
	if (o->n == 0)
		o->low = UINT64_MAX;
	o->lists[o->n_lists++] = (struct list){ .at = at, .code = m->start };
	o->is_left = true;
	o->pause = FIRST_PAUSE_NS;
	process_set_due(p);
}

struct jit_objects *jit_objects_copy(const struct jit_objects *o)
{
	struct jit_objects *copy = o ? calloc(1, sizeof(*copy)) : NULL;

	if (!copy)
		return NULL;
	*copy = *o;
	copy->objects = o->size > 0 ? calloc(o->size, sizeof(*o->objects)) : NULL;
	if (o->size > 0 && !copy->objects) {
		free(copy);
		return NULL;
	}
	for (size_t i = 0; i < o->n; i++) {
		copy->objects[i] = o->objects[i];
		binary_hold(copy->objects[i].binary);
	}
	for (size_t i = 0; i < o->n_lists; i++)
		copy->lists[i].next = copy->lists[i].n_failed = 0;
	copy->is_left = true;
	copy->n_generated = 0;
	copy->next = 0;
	copy->pause = FIRST_PAUSE_NS;
	return copy;
}

struct jit_objects *jit_objects_free(struct jit_objects *o)
{
	for (size_t i = 0; o && i < o->n; i++)
		binary_drop(o->objects[i].binary);
	if (o)
		free(o->objects);
	free(o);
	return NULL;
}

size_t jit_objects_n_mappings(const struct jit_objects *o)
{
	/* Each leaves a part of what was there before it. */
	return o ? 2 * o->n_code : 0;
}

static bool is_object(const struct binary *b)
{
	return b && b->object_size > 0;
}

void jit_objects_cover(struct process *p, const struct mapping *m)
{
	struct jit_objects *o = p->jit_objects;

	if (!o || m->end <= o->low || m->start >= o->high || is_object(m->binary))
		return;
	for (size_t i = 0; i < o->n; i++) {
		struct object *object = &o->objects[i];

		if (!object->is_mapped || m->end <= object->low || m->start >= object->high)
			continue;
		object->is_mapped = false;
		o->is_pending = true;
	}
}

static bool is_bare(const struct mapping *m)
{
	return m && !m->binary && !m->is_pending && !m->is_unread;
}

/* What is there where its code was has no description, then. It becomes one with what is beside it. */
static void unmap_segment(const struct look *l, const struct mapping *m)
{
	struct process *p = l->process;
	const struct history *h = &p->mappings;
	const struct mapping *left = history_find(h, m->start - 1, TIME_NEVER - 1),
			     *right = history_find(h, m->end, TIME_NEVER - 1);
	struct mapping bare = { m->start, m->end, .born = l->now, .died = TIME_NEVER };

	if (l->table->binaries->symbols && !p->jitted)
		p->jitted = jitted_new(&l->table->jitted, p->pid);
	bare.jitted = p->jitted;
	if (is_bare(left) && left->jitted == bare.jitted)
		bare.start = left->start;
	if (is_bare(right) && right->jitted == bare.jitted)
		bare.end = right->end;
	(void)process_add_mapping(p, &bare);
}

static void unmap_code(const struct look *l, const struct object *object)
{
	const struct binary *b = object->binary;

	for (size_t i = 0; i < object->n_code; i++) {
		const struct mapping *m = history_find(&l->process->mappings,
						       b->elf.segments[i].address, TIME_NEVER - 1);

		if (m && m->binary == b)
			unmap_segment(l, m);
	}
}

static void drop_binary(const struct look *l, struct object *object)
{
	if (!object->binary)
		return;
	unmap_code(l, object);
	l->objects->bytes -= object->entry.size;
	l->objects->n_code -= object->n_code;
	object->n_code = 0;
	binary_drop(object->binary);
	object->binary = NULL;
}

static void drop_object(const struct look *l, struct object *object)
{
	drop_binary(l, object);
	*object = l->objects->objects[--l->objects->n];
}

/* There is room: what waits for some is copied in the next look. */
static void end_waits(const struct look *l)
{
	for (size_t i = 0; i < l->objects->n; i++)
		if (l->objects->objects[i].retry > l->now)
			l->objects->objects[i].retry = l->now;
}

/* Those of a list, or only what its walk has not met: that code has been freed. */
static void drop_objects(const struct look *l, const struct list *list, bool all)
{
	struct jit_objects *o = l->objects;
	uint64_t before = o->bytes;

	for (size_t i = o->n; i-- > 0;)
		if (o->objects[i].list == list->at && (all || !o->objects[i].is_listed))
			drop_object(l, &o->objects[i]);
	if (o->bytes < before)
		end_waits(l);
}

/* Others may leave room. */
static bool is_shortage(int err)
{
	return err == -ENOSPC || err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

static int copy_object(const struct look *l, struct object *object)
{
	const struct list_entry *e = &object->entry;
	int file;

	if (e->size > JIT_OBJECTS_BYTES - l->objects->bytes)
		return -ENOSPC;
	file = jit_copy_file(l->table, l->process, e->file, e->size, &object->hash);
	return file < 0 ? file :
			  binary_store_get_object(l->table->binaries, l->process->pid, file,
						  &object->binary);
}

static void set_retry(const struct look *l, struct object *object)
{
	uint64_t wait = object->waited > 0 ? 2 * object->waited : FIRST_RETRY_NS;

	object->waited = wait < LAST_RETRY_NS ? wait : LAST_RETRY_NS;
	object->retry = l->now + object->waited;
}

/*
 * A new entry, or one that has waited to be copied again. What cannot be read now is read in the next
 * look.
 */
static int add_object(const struct look *l, const struct list *list, const struct list_entry *e,
		      uint64_t waited)
{
	struct object object = {
		.list = list->at, .at = list->next, .entry = *e, .is_listed = true, .waited = waited
	};
	struct jit_objects *o = l->objects;
	int err;

	if (array_reserve(o->objects, o->n, o->size) < 0)
		return -ENOMEM;
	err = copy_object(l, &object);
	if (err == -EAGAIN || err == -ETIMEDOUT)
		return err;
	log_debug("process %d: code is described at %#" PRIx64 ", in %" PRIu64 " bytes%s%s",
		  l->process->pid, e->file, e->size, err < 0 ? ": " : "",
		  err < 0 ? strerror(-err) : "");
	if (err == 0) {
		binary_hold(object.binary);
		o->bytes += e->size;
		o->is_pending = true;
		o->n_copied++;
	} else {
		set_retry(l, &object);
	}
	o->objects[o->n++] = object;
	return 0;
}

static struct object *find_object(const struct jit_objects *o, const struct list *list,
				  const struct list_entry *e)
{
	for (size_t i = 0; i < o->n; i++) {
		struct object *object = &o->objects[i];

		if (object->at == list->next && object->list == list->at &&
		    object->entry.file == e->file && object->entry.size == e->size)
			return object;
	}
	return NULL;
}

static bool may_stay(const struct look *l, const struct object *object)
{
	const struct list_entry *e = &object->entry;

	return object->retry != 0 ?
		       l->now < object->retry :
		       jit_copy_is_same(l->table, l->process, e->file, e->size, object->hash);
}

/* 1: the time is up; 0; or a negative errno. */
static int note_entry(const struct look *l, const struct list *list, const struct list_entry *e)
{
	struct object *known = find_object(l->objects, list, e);
	uint64_t waited = known && known->retry != 0 ? known->waited : 0;

	if (known && may_stay(l, known)) {
		known->is_listed = true;
		return 0;
	}
	if (known)
		drop_object(l, known);
	if (e->size == 0 || e->size > JIT_OBJECT_SIZE || l->objects->n >= JIT_OBJECTS_MAX)
		return 0;
	return clock_now_ns() > l->until ? 1 : add_object(l, list, e, waited);
}

static int begin_walk(const struct look *l, struct list *list)
{
	struct descriptor d;
	int err = fetchers_read(l->table->fetchers, l->process->thread, list->at, &d, sizeof(d));

	if (err < 0)
		return err;
	list->next = d.version == 1 ? d.first : 0;
	list->previous = 0;
	list->n_walked = 0;
	for (size_t i = 0; i < l->objects->n; i++)
		if (l->objects->objects[i].list == list->at)
			l->objects->objects[i].is_listed = false;
	return 0;
}

/* 1: the time is up; 0: it has come to the end; -ESTALE: the list changed meanwhile; or another errno. */
static int walk(const struct look *l, struct list *list)
{
	int err = list->next == 0 || list->n_walked == 0 ? begin_walk(l, list) : 0;

	while (err == 0 && list->next != 0) {
		struct list_entry e;

		if (list->n_walked == JIT_OBJECTS_WALK)
			return -E2BIG;
		if (clock_now_ns() > l->until)
			return 1;
		err = jit_copy_bytes(l->table, l->process, list->next, sizeof(e), &e);
		if (err == 0 && e.previous != list->previous)
			err = -ESTALE;
		if (err == 0)
			err = note_entry(l, list, &e);
		if (err != 0)
			break;
		list->previous = list->next;
		list->next = e.next;
		list->n_walked++;
	}
	return err;
}

/* True if the next look may lead further. */
static bool look_at_list(const struct look *l, struct list *list)
{
	int err = walk(l, list);

	if (err == 1)
		return true;
	list->next = 0;
	if (err == 0) {
		list->n_failed = 0;
		drop_objects(l, list, false);
		return false;
	}
	list->n_failed = err == -E2BIG ? JIT_OBJECTS_FAILURES : list->n_failed + 1;
	return list->n_failed < JIT_OBJECTS_FAILURES;
}

static bool has_descriptor(const struct mapping *m, uint64_t at)
{
	return m && m->binary && !m->is_pending && m->died == TIME_NEVER && descriptor_of(m) == at;
}

static void find_descriptor(void *arg, struct mapping *m)
{
	struct list *list = arg;

	if (has_descriptor(m, list->at))
		list->code = m->start;
}

static bool is_loaded(const struct process *p, struct list *list)
{
	const struct history *h = &p->mappings;

	if (has_descriptor(history_find(h, list->code, TIME_NEVER - 1), list->at))
		return true;
	history_each(h, find_descriptor, list);
	return has_descriptor(history_find(h, list->code, TIME_NEVER - 1), list->at);
}

/* Those of libraries that the process has closed. */
static void drop_lists(const struct look *l)
{
	const struct process *p = l->process;
	struct jit_objects *o = l->objects;

	/* They may come back. */
	if (p->list || p->doubted != 0 || p->has_pending)
		return;
	for (size_t i = o->n_lists; i-- > 0;) {
		if (is_loaded(p, &o->lists[i]))
			continue;
		drop_objects(l, &o->lists[i], true);
		o->lists[i] = o->lists[--o->n_lists];
	}
}

static uint64_t longer(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void look(const struct look *l)
{
	uint64_t begun = clock_now_ns(), begun_cpu = clock_read_ns(CLOCK_THREAD_CPUTIME_ID), took;
	struct jit_objects *o = l->objects;

	o->n_generated = l->process->n_generated;
	o->is_left = false;
	o->n_copied = 0;
	drop_lists(l);
	for (size_t i = 0; i < o->n_lists; i++)
		o->is_left |= look_at_list(l, &o->lists[(o->turn + i) % o->n_lists]);
	o->turn++;
	o->pause = o->n_copied > 0 ? FIRST_PAUSE_NS : 2 * o->pause;
	if (o->pause > LAST_PAUSE_NS)
		o->pause = LAST_PAUSE_NS;
	took = longer(PAUSE_SHARE * (clock_now_ns() - begun),
		      PAUSE_CPU_SHARE * (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begun_cpu));
	o->next = l->now + longer(took, o->pause);
}

/* The part of a segment that is in memory without another binary, as generated code is. */
static void map_segment(const struct look *l, struct binary *b, const struct elf_segment *s)
{
	const struct mapping *m = history_find(&l->process->mappings, s->address, TIME_NEVER - 1);
	struct mapping code = { .start = s->address,
				.end = s->address + s->memory_size,
				.offset = s->offset,
				.binary = b,
				.born = l->now,
				.died = TIME_NEVER };

	if (!s->executable || !m || m->binary || m->is_pending || m->is_unread ||
	    code.end <= code.start)
		return;
	if (code.end > m->end)
		code.end = m->end;
	/* Short of memory, it remains without a description. */
	(void)process_add_mapping(l->process, &code);
}

/* Its file has been read. */
static void note_code(const struct look *l, struct object *object)
{
	const struct elf_facts *elf = &object->binary->elf;
	struct jit_objects *o = l->objects;
	int err = object->binary->err;

	if (err == 0 && elf->n_segments > JIT_OBJECTS_CODE - o->n_code)
		err = -ENOSPC;
	if (err < 0) {
		object->retry = 0;
		if (is_shortage(err))
			set_retry(l, object);
		drop_binary(l, object);
		return;
	}
	object->low = UINT64_MAX;
	object->n_code = elf->n_segments;
	o->n_code += elf->n_segments;
	for (size_t i = 0; i < elf->n_segments; i++) {
		const struct elf_segment *s = &elf->segments[i];
		uint64_t end = s->address + s->memory_size;

		object->low = s->address < object->low ? s->address : object->low;
		object->high = end > object->high ? end : object->high;
	}
	o->low = object->low < o->low ? object->low : o->low;
	o->high = object->high > o->high ? object->high : o->high;
}

/* False: it has to wait. */
static bool map_object(const struct look *l, struct object *object)
{
	struct binary *b = object->binary;

	if (binary_is_pending(b) || clock_now_ns() > l->until)
		return false;
	if (object->n_code == 0)
		note_code(l, object);
	for (size_t i = 0; i < object->n_code; i++)
		map_segment(l, b, &b->elf.segments[i]);
	object->is_mapped = true;
	return true;
}

static void map_code(const struct look *l)
{
	struct jit_objects *o = l->objects;

	o->is_pending = false;
	for (size_t i = 0; i < o->n; i++)
		if (o->objects[i].binary && !o->objects[i].is_mapped)
			o->is_pending |= !map_object(l, &o->objects[i]);
}

/* Another process may have got its number. */
static bool is_gone(const struct process *p)
{
	return p->is_replaced || p->left != TIME_NEVER ||
	       (p->exited != TIME_NEVER && !process_is_same(p));
}

/* Samples in generated code: something may be new there, or have replaced what was known. */
static bool is_due(const struct process *p, uint64_t now)
{
	const struct jit_objects *o = p->jit_objects;

	return now >= o->next && (o->is_left || p->n_generated != o->n_generated);
}

bool jit_objects_update(struct process_table *table, struct process *p, uint64_t now,
			uint64_t until)
{
	struct jit_objects *o = p->jit_objects;
	struct look l = { table, p, o, now, until };

	if (!o || p->is_unread)
		return false;
	if (!is_due(p, now) && !o->is_pending)
		return o->is_left;
	if (is_gone(p)) {
		p->jit_objects = jit_objects_free(o);
		return false;
	}
	if (is_due(p, now))
		look(&l);
	if (o->is_pending)
		map_code(&l);
	if (o->n_lists > 0)
		return o->is_left || o->is_pending;
	p->jit_objects = jit_objects_free(o);
	return false;
}
