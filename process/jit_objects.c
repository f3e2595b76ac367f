// SPDX-License-Identifier: Apache-2.0
#include "process/jit_objects.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/write_all.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "process/process.h"
#include "sandbox/fetchers.h"

/* From one look to the next: as long as there is something new, and if there is not. */
#define FIRST_PAUSE_NS UINT64_C(20000000)
#define LAST_PAUSE_NS UINT64_C(200000000)
/* And so many times what a look has taken. */
#define PAUSE_SHARE 100
/* How long new targets are waited for. */
#define SETTLE_NS UINT64_C(300000000)
#define SETTLE_WAIT_MS 5
/* A program and its libraries may have a compiler each. */
#define N_LISTS 4

/* As in the process's memory, by the interface's first version, the only one. */
struct list {
	uint32_t version, action;
	uint64_t relevant, first;
};

struct list_entry {
	uint64_t next, previous, file, size;
};

struct object {
	uint64_t at; /* its entry's address */
	struct list_entry entry;
	uint64_t hash;         /* of the end of the file, where names are */
	struct binary *binary; /* held; NULL: it is not used */
	bool is_listed;        /* met in this look, */
	bool is_other;         /* or found to be another file's by now */
};

struct jit_objects {
	uint64_t lists[N_LISTS];
	size_t n_lists;
	struct object *objects;
	size_t n, size;
	uint64_t bytes;       /* copied, of these */
	bool has_looked;      /* once, at all lists */
	bool is_left;         /* something has to be copied in the next look */
	bool is_pending;      /* some binary is not ready */
	size_t n_met;         /* the samples, as in struct jitted, at the last look, */
	uint64_t looked;      /* which was then */
	uint64_t next, pause; /* when to look again, and after that */
};

void jit_objects_meet(struct process *p, const struct mapping *m)
{
	uint64_t at = m->bias + m->binary->elf.jit_descriptor;
	struct jit_objects *o = p->jit_objects;

	if (m->binary->elf.jit_descriptor == 0)
		return;
	if (!o)
		o = p->jit_objects = calloc(1, sizeof(*o));
	for (size_t i = 0; o && i < o->n_lists; i++)
		if (o->lists[i] == at)
			return;
	if (!o || o->n_lists == N_LISTS)
		return;
	o->lists[o->n_lists++] = at;
	o->has_looked = false;
	o->pause = FIRST_PAUSE_NS;
	process_set_due(p);
}

struct jit_objects *jit_objects_copy(const struct jit_objects *o)
{
	struct jit_objects *copy = o ? calloc(1, sizeof(*copy)) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy->lists, o->lists, sizeof(copy->lists));
	copy->n_lists = o->n_lists;
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

static int copy_bytes(struct process_table *table, const struct process *p, uint64_t from,
		      uint64_t size, uint8_t *to)
{
	int err = 0;

	for (uint64_t done = 0; err == 0 && done < size;) {
		uint64_t left = DP_USER_PAGE_SIZE - (from + done) % DP_USER_PAGE_SIZE;
		uint64_t n = size - done < left ? size - done : left;

		err = fetchers_read(table->fetchers, p->thread, from + done, to + done, n);
		done += n;
	}
	return err;
}

static uint64_t hash_end(const uint8_t *bytes, uint64_t size)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (uint64_t i = size < DP_USER_PAGE_SIZE ? 0 : size - DP_USER_PAGE_SIZE; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

/* Memory is used again: another file may be where one was, and be as large. */
static bool is_same_file(struct process_table *table, const struct process *p,
			 const struct object *o)
{
	uint64_t n = o->entry.size < DP_USER_PAGE_SIZE ? o->entry.size : DP_USER_PAGE_SIZE;
	uint8_t end[DP_USER_PAGE_SIZE];

	return !o->binary || copy_bytes(table, p, o->entry.file + o->entry.size - n, n, end) < 0 ||
	       hash_end(end, n) == o->hash;
}

/* Nobody else has it, and nobody writes to it any more. */
static int copy_file(struct process_table *table, const struct process *p,
		     const struct list_entry *e, uint64_t *ret_hash)
{
	_cleanup_free_ uint8_t *bytes = malloc(e->size);
	_cleanup_close_ int file = -1;
	int err = bytes ? copy_bytes(table, p, e->file, e->size, bytes) : -ENOMEM;

	if (err < 0)
		return err;
	file = memfd_create("jit", MFD_CLOEXEC);
	if (file < 0)
		return -errno;
	err = write_all(file, bytes, e->size);
	*ret_hash = hash_end(bytes, e->size);
	return err < 0 ? err : steal_fd(&file);
}

static bool has_room(const struct jit_objects *o, uint64_t size)
{
	return size > 0 && size <= JIT_OBJECT_SIZE && size <= JIT_OBJECTS_BYTES - o->bytes;
}

/* A new entry. What cannot be read now is read in the next look. */
static int add_object(struct process_table *table, struct process *p, uint64_t at,
		      const struct list_entry *e)
{
	struct jit_objects *o = p->jit_objects;
	struct object object = { .at = at, .entry = *e, .is_listed = true };
	int file, err = 0;

	if (array_reserve(o->objects, o->n, o->size) < 0)
		return -ENOMEM;
	if (has_room(o, e->size)) {
		file = copy_file(table, p, e, &object.hash);
		if (file == -EAGAIN || file == -ETIMEDOUT)
			return file;
		err = file < 0 ? file :
				 binary_store_get_object(table->binaries, p->pid, file,
							 &object.binary);
	} else {
		err = -E2BIG;
	}
	log_debug("process %d: code is described at %#" PRIx64 ", in %" PRIu64 " bytes%s%s", p->pid,
		  e->file, e->size, err < 0 ? ": " : "", err < 0 ? strerror(-err) : "");
	if (err == 0) {
		binary_hold(object.binary);
		o->bytes += e->size;
		o->is_pending = true;
	}
	o->objects[o->n++] = object;
	return 0;
}

static struct object *find_object(const struct jit_objects *o, uint64_t at,
				  const struct list_entry *e)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->objects[i].at == at && o->objects[i].entry.file == e->file &&
		    o->objects[i].entry.size == e->size && !o->objects[i].is_other)
			return &o->objects[i];
	return NULL;
}

/* 1: the list leads back to what was met already; 0; or a negative errno. */
static int note_entry(struct process_table *table, struct process *p, uint64_t at,
		      const struct list_entry *e, uint64_t until)
{
	struct jit_objects *o = p->jit_objects;
	struct object *known = find_object(o, at, e);
	int err;

	if (known && known->is_listed)
		return 1;
	if (known && is_same_file(table, p, known)) {
		known->is_listed = true;
		return 0;
	}
	if (known)
		known->is_other = true;
	if (o->n >= JIT_OBJECTS_MAX || clock_now_ns() > until) {
		o->is_left = true;
		return 0;
	}
	err = add_object(table, p, at, e);
	o->is_left |= err < 0;
	return err == -ENOMEM ? err : 0;
}

/* The list may change, or lead anywhere. */
static int read_list(struct process_table *table, struct process *p, uint64_t address,
		     uint64_t until)
{
	struct list_entry e;
	struct list list;
	uint64_t at;
	int err = fetchers_read(table->fetchers, p->thread, address, &list, sizeof(list));

	if (err < 0 || list.version != 1)
		return err;
	at = list.first;
	for (size_t n = 0; at != 0 && n < JIT_OBJECTS_MAX; n++) {
		err = copy_bytes(table, p, at, sizeof(e), (uint8_t *)&e);
		if (err == 0)
			err = note_entry(table, p, at, &e, until);
		if (err != 0)
			return err < 0 ? err : 0;
		at = e.next;
	}
	return 0;
}

/* What is there where its code was has no description, then. */
static void unmap_code(struct process *p, const struct binary *b, uint64_t now)
{
	for (size_t i = 0; i < b->elf.n_segments; i++) {
		const struct mapping *m =
			history_find(&p->mappings, b->elf.segments[i].address, TIME_NEVER - 1);
		struct mapping bare;

		if (!m || m->binary != b)
			continue;
		bare = (struct mapping){ m->start, m->end, .jitted = p->jitted, .born = now,
					 .died = TIME_NEVER };
		(void)process_add_mapping(p, &bare);
	}
}

/* Their code has been freed. */
static void drop_unlisted(struct process *p, uint64_t now)
{
	struct jit_objects *o = p->jit_objects;
	size_t kept = 0;

	for (size_t i = 0; i < o->n; i++) {
		struct object *object = &o->objects[i];

		if (object->is_listed) {
			o->objects[kept++] = *object;
			continue;
		}
		if (!object->binary)
			continue;
		o->bytes -= object->entry.size;
		unmap_code(p, object->binary, now);
		binary_drop(object->binary);
	}
	o->n = kept;
}

static void look(struct process_table *table, struct process *p, uint64_t now)
{
	struct jit_objects *o = p->jit_objects;
	uint64_t begun = clock_now_ns(), took;
	size_t before = o->n;
	int err = 0;

	for (size_t i = 0; i < o->n; i++)
		o->objects[i].is_listed = false;
	o->is_left = false;
	o->n_met = p->jitted ? p->jitted->n_met : 0;
	o->looked = now;
	for (size_t i = 0; i < o->n_lists && err == 0; i++)
		err = read_list(table, p, o->lists[i], begun + JIT_OBJECTS_TURN_NS);
	if (err == 0) {
		o->has_looked = true;
		o->pause = o->n > before ? FIRST_PAUSE_NS : 2 * o->pause;
		drop_unlisted(p, now);
	} else {
		o->pause *= 2;
	}
	if (o->pause > LAST_PAUSE_NS)
		o->pause = LAST_PAUSE_NS;
	took = PAUSE_SHARE * (clock_now_ns() - begun);
	o->next = now + (took > o->pause ? took : o->pause);
}

/* The part of a segment that is in memory without another binary, as generated code is. */
static void map_segment(struct process *p, struct binary *b, const struct elf_segment *s,
			uint64_t now)
{
	const struct mapping *m = history_find(&p->mappings, s->address, TIME_NEVER - 1);
	struct mapping code = { .start = s->address,
				.end = s->address + s->memory_size,
				.offset = s->offset,
				.binary = b,
				.born = now,
				.died = TIME_NEVER };

	if (!s->executable || !m || m->binary || m->is_pending || code.end <= code.start)
		return;
	if (code.end > m->end)
		code.end = m->end;
	/* Short of memory, it remains without a description. */
	(void)process_add_mapping(p, &code);
}

/* Later changes may have covered it with what was there before, so this is done again. */
static void map_code(struct process *p, uint64_t now)
{
	struct jit_objects *o = p->jit_objects;

	o->is_pending = false;
	for (size_t i = 0; i < o->n; i++) {
		struct binary *b = o->objects[i].binary;

		if (!b || b->err < 0)
			continue;
		if (binary_is_pending(b)) {
			o->is_pending = true;
			continue;
		}
		for (size_t j = 0; j < b->elf.n_segments; j++)
			map_segment(p, b, &b->elf.segments[j], now);
	}
}

/* What is there may have been replaced. */
static bool is_sampled(const struct jit_objects *o)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct binary *b = o->objects[i].binary;

		if (b && b->table && b->table->last_used > o->looked)
			return true;
	}
	return false;
}

void jit_objects_update(struct process_table *table, struct process *p, uint64_t now)
{
	struct jit_objects *o = p->jit_objects;

	if (!o || p->is_unread)
		return;
	if (now >= o->next && (!o->has_looked || o->is_left ||
			       (p->jitted && p->jitted->n_met != o->n_met) || is_sampled(o)))
		look(table, p, now);
	if (o->is_pending || p->changed)
		map_code(p, now);
}

static bool look_at_all(struct process_table *table)
{
	uint64_t now = clock_now_ns();
	struct process *p, *next;
	bool is_awaited = false;

	HASH_ITER(hh, table->processes, p, next) {
		jit_objects_update(table, p, now);
		is_awaited |=
			p->jit_objects && (!p->jit_objects->has_looked || p->jit_objects->is_left ||
					   p->jit_objects->is_pending);
	}
	return is_awaited;
}

void jit_objects_settle(struct process_table *table)
{
	const struct timespec pause = { .tv_nsec = SETTLE_WAIT_MS * 1000000 };
	uint64_t until = clock_now_ns() + SETTLE_NS;

	while (look_at_all(table) && clock_now_ns() < until)
		if (!binary_store_wait(table->binaries, SETTLE_WAIT_MS))
			nanosleep(&pause, NULL);
}
