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
#include "elf/frames_object.h"
#include "process/jit_copy.h"
#include "process/jit_parts.h"
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
/* What identifies the list of a mapping's binary; 0: it has none of that source. */
static uint64_t list_of(const struct mapping *m, enum jit_source source)
{
	const struct elf_facts *elf = &m->binary->elf;
	uint64_t at = source == JIT_DESCRIBED ? elf->jit_descriptor : elf->frame_lists.at[0];

	return at == 0 ? 0 : m->bias + at;
}

static bool has_list(const struct jit_objects *o, uint64_t at)
{
	for (size_t i = 0; o && i < o->n_lists; i++)
		if (o->lists[i].at == at)
			return true;
	return false;
}

/* It has something to be looked at. NULL: memory is short. */
static struct jit_objects *begin(struct process *p)
{
	struct jit_objects *o = p->jit_objects;

	if (!o)
		o = p->jit_objects = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	if (o->n == 0)
		o->low = UINT64_MAX;
	o->is_left = true;
	o->pause = FIRST_PAUSE_NS;
	process_set_due(p);
	return o;
}

static void meet_list(struct process *p, const struct mapping *m, enum jit_source source)
{
	uint64_t at = list_of(m, source);
	struct jit_objects *o;

	if (at == 0 || has_list(p->jit_objects, at))
		return;
	o = begin(p);
	if (o && o->n_lists < JIT_N_LISTS)
		o->lists[o->n_lists++] = (struct jit_list){ .source = source,
							    .at = at,
							    .code = m->start,
							    .words = m->binary->elf.frame_lists,
							    .bias = m->bias };
}

void jit_objects_meet(struct process *p, const struct mapping *m)
{
	meet_list(p, m, JIT_DESCRIBED);
	/* Each C++ program has a libgcc; few register anything. */
	if (p->n_generated > 0)
		meet_list(p, m, JIT_REGISTERED);
}

static void meet_registered(void *arg, struct mapping *m)
{
	if (m->binary && !m->is_pending && m->died == TIME_NEVER)
		meet_list(arg, m, JIT_REGISTERED);
}

void jit_objects_expect(struct process *p)
{
	p->n_generated++;
	if (p->n_generated == 1)
		history_each(&p->mappings, meet_registered, p);
}

void jit_objects_meet_dump(struct process *p, uint64_t inode, const char *name)
{
	struct jit_objects *o = begin(p);

	if (!o || o->dump.name)
		return;
	o->dump.name = strdup(name);
	o->dump.inode = inode;
}

struct jit_objects *jit_objects_copy(const struct jit_objects *o)
{
	struct jit_objects *copy = o ? calloc(1, sizeof(*copy)) : NULL;

	if (!copy)
		return NULL;
	*copy = *o;
	/* It is about the parent. */
	/* The child's own follow those of its parent, whose code it has. */
	copy->dump = (struct jit_dump_file){ .n = o->dump.n };
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
	if (o) {
		free(o->dump.name);
		free(o->objects);
	}
	free(o);
	return NULL;
}

size_t jit_objects_n_mappings(const struct jit_objects *o)
{
	/* Each leaves a part of what was there before it. */
	return o ? 2 * o->n_code : 0;
}

void jit_object_drop_binary(const struct jit_look *l, struct jit_object *object)
{
	if (!object->binary)
		return;
	jit_code_unmap(l, object);
	l->objects->bytes -= object->entry.size;
	l->objects->n_code -= object->n_code;
	object->n_code = 0;
	binary_drop(object->binary);
	object->binary = NULL;
}

void jit_object_drop(const struct jit_look *l, struct jit_object *object)
{
	jit_object_drop_binary(l, object);
	*object = l->objects->objects[--l->objects->n];
}

/* There is room: what waits for some is copied in the next look. */
static void end_waits(const struct jit_look *l)
{
	for (size_t i = 0; i < l->objects->n; i++)
		if (l->objects->objects[i].retry > l->now)
			l->objects->objects[i].retry = l->now;
}

/* Those of a list, or only what its walk has not met: that code has been freed. */
static void drop_objects(const struct jit_look *l, const struct jit_list *list, bool all)
{
	struct jit_objects *o = l->objects;
	uint64_t before = o->bytes;

	for (size_t i = o->n; i-- > 0;)
		if (o->objects[i].list == list->at && (all || !o->objects[i].is_listed))
			jit_object_drop(l, &o->objects[i]);
	if (o->bytes < before)
		end_waits(l);
}

static int copy_object(const struct jit_look *l, struct jit_object *object)
{
	const struct jit_list_entry *e = &object->entry;
	const struct frames_copy head = { FRAMES_COPY_MAGIC, e->file };
	size_t head_size = object->source == JIT_REGISTERED ? sizeof(head) : 0;
	int file;

	if (e->size > JIT_OBJECTS_BYTES - l->objects->bytes)
		return -ENOSPC;
	file = jit_copy_file(l->table, l->process, &head, head_size, e->file, e->size,
			     &object->hash);
	return file < 0 ? file :
			  binary_store_get_object(l->table->binaries, l->process->pid, file,
						  &object->binary);
}

void jit_object_wait(const struct jit_look *l, struct jit_object *object)
{
	uint64_t wait = object->waited > 0 ? 2 * object->waited : FIRST_RETRY_NS;

	object->waited = wait < LAST_RETRY_NS ? wait : LAST_RETRY_NS;
	object->retry = l->now + object->waited;
}

int jit_object_add(const struct jit_look *l, struct jit_object *object)
{
	struct jit_objects *o = l->objects;

	if (array_reserve(o->objects, o->n, o->size) < 0)
		return -ENOMEM;
	if (object->binary) {
		binary_hold(object->binary);
		o->bytes += object->entry.size;
		o->is_pending = true;
		o->n_copied++;
	}
	object->is_listed = true;
	o->objects[o->n++] = *object;
	return 0;
}

/*
 * A new entry, or one that has waited to be copied again. What cannot be read now is read in the next
 * look.
 */
static int copy_new(const struct jit_look *l, struct jit_object *object)
{
	const struct jit_list_entry *e = &object->entry;
	int err = copy_object(l, object);

	if (err == -EAGAIN || err == -ETIMEDOUT)
		return err;
	log_debug("process %d: code is described at %#" PRIx64 ", in %" PRIu64 " bytes%s%s",
		  l->process->pid, e->file, e->size, err < 0 ? ": " : "",
		  err < 0 ? strerror(-err) : "");
	if (err < 0)
		jit_object_wait(l, object);
	return jit_object_add(l, object);
}

static struct jit_object *find_object(const struct jit_objects *o, const struct jit_object *wanted)
{
	for (size_t i = 0; i < o->n; i++) {
		struct jit_object *object = &o->objects[i];

		if (object->at == wanted->at && object->list == wanted->list &&
		    object->entry.file == wanted->entry.file &&
		    (object->entry.size == wanted->entry.size || wanted->entry.size == 0))
			return object;
	}
	return NULL;
}

static bool may_stay(const struct jit_look *l, const struct jit_object *object)
{
	const struct jit_list_entry *e = &object->entry;

	return object->retry != 0 ?
		       l->now < object->retry :
		       jit_copy_is_same(l->table, l->process, e->file, e->size, object->hash);
}

/* Of a file without a size. */
static int measure(const struct jit_look *l, struct jit_object *object)
{
	if (object->source != JIT_REGISTERED || object->entry.size != 0)
		return 0;
	return frame_registry_measure(l->table, l->process, object->entry.file, JIT_OBJECT_SIZE,
				      &object->entry.size);
}

int jit_object_note(const struct jit_look *l, const struct jit_object *found)
{
	struct jit_object *known = find_object(l->objects, found), object = *found;
	int err;

	if (known && (known->is_listed || may_stay(l, known))) {
		known->is_listed = true;
		return 0;
	}
	if (known) {
		object.waited = known->retry != 0 ? known->waited : 0;
		jit_object_drop(l, known);
	}
	if (l->objects->n >= JIT_OBJECTS_MAX)
		return 0;
	if (clock_now_ns() > l->until)
		return 1;
	err = measure(l, &object);
	if (err < 0)
		return err == -EAGAIN || err == -ETIMEDOUT ? err : 0;
	if (object.entry.size == 0 || object.entry.size > JIT_OBJECT_SIZE)
		return 0;
	return copy_new(l, &object);
}

static int note_entry(const struct jit_look *l, const struct jit_list *list,
		      const struct jit_list_entry *e)
{
	const struct jit_object object = {
		.source = JIT_DESCRIBED, .list = list->at, .at = list->next, .entry = *e
	};

	return e->size == 0 ? 0 : jit_object_note(l, &object);
}

static void begin_list(const struct jit_look *l, const struct jit_list *list)
{
	for (size_t i = 0; i < l->objects->n; i++)
		if (l->objects->objects[i].list == list->at)
			l->objects->objects[i].is_listed = false;
}

static int begin_walk(const struct jit_look *l, struct jit_list *list)
{
	struct jit_descriptor d;
	int err = fetchers_read(l->table->fetchers, l->process->thread, list->at, &d, sizeof(d));

	if (err < 0)
		return err;
	list->next = d.version == 1 ? d.first : 0;
	list->previous = 0;
	list->n_walked = 0;
	begin_list(l, list);
	return 0;
}

/* 1: the time is up; 0: it has come to the end; -ESTALE: the list changed meanwhile; or another errno. */
static int walk(const struct jit_look *l, struct jit_list *list)
{
	int err = list->next == 0 || list->n_walked == 0 ? begin_walk(l, list) : 0;

	while (err == 0 && list->next != 0) {
		struct jit_list_entry e;

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
static bool look_at_list(const struct jit_look *l, struct jit_list *list)
{
	int err;

	if (list->source == JIT_REGISTERED) {
		begin_list(l, list);
		err = jit_frames_walk(l, list);
	} else {
		err = walk(l, list);
	}
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

static bool is_in(const struct jit_list *list, const struct mapping *m)
{
	return m && m->binary && !m->is_pending && m->died == TIME_NEVER &&
	       list_of(m, list->source) == list->at;
}

static void find_code(void *arg, struct mapping *m)
{
	struct jit_list *list = arg;

	if (is_in(list, m))
		list->code = m->start;
}

static bool is_loaded(const struct process *p, struct jit_list *list)
{
	const struct history *h = &p->mappings;

	if (is_in(list, history_find(h, list->code, TIME_NEVER - 1)))
		return true;
	history_each(h, find_code, list);
	return is_in(list, history_find(h, list->code, TIME_NEVER - 1));
}

/* Those of libraries that the process has closed. */
static void drop_lists(const struct jit_look *l)
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

static void look(const struct jit_look *l)
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
	o->is_left |= jit_frames_read_dump(l);
	o->pause = o->n_copied > 0 ? FIRST_PAUSE_NS : 2 * o->pause;
	if (o->pause > LAST_PAUSE_NS)
		o->pause = LAST_PAUSE_NS;
	took = longer(PAUSE_SHARE * (clock_now_ns() - begun),
		      PAUSE_CPU_SHARE * (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begun_cpu));
	o->next = l->now + longer(took, o->pause);
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
	struct jit_look l = { table, p, o, now, until };

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
		jit_code_map(&l);
	if (o->n_lists > 0 || o->n > 0 || o->dump.name)
		return o->is_left || o->is_pending;
	p->jit_objects = jit_objects_free(o);
	return false;
}
