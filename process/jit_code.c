// SPDX-License-Identifier: Apache-2.0
/* Maps code that is described in place of the anonymous memory that it is in. */
#include <errno.h>

#include "limits/limits.h"
#include "log/clock.h"
#include "process/jit_parts.h"

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
		struct jit_object *object = &o->objects[i];

		if (!object->is_mapped || m->end <= object->low || m->start >= object->high)
			continue;
		object->is_mapped = false;
		o->is_pending = true;
	}
}

static const struct mapping *find(const struct jit_look *l, uint64_t address)
{
	return history_find(&l->process->mappings, address, TIME_NEVER - 1);
}

static bool is_bare(const struct mapping *m)
{
	return m && !m->binary && !m->is_pending && !m->is_unread;
}

/* What gives names to code that has none from its description. */
static struct jitted *names_of(const struct jit_look *l)
{
	struct process *p = l->process;

	if (l->table->binaries->symbols && !p->jitted)
		p->jitted = jitted_new(&l->table->jitted, p->pid);
	return p->jitted;
}

/* What is there where its code was has no description, then. It becomes one with what is beside it. */
static void unmap_part(const struct jit_look *l, const struct mapping *m)
{
	const struct mapping *left = find(l, m->start - 1), *right = find(l, m->end);
	struct mapping bare = { m->start, m->end, .jitted = names_of(l), .born = l->now,
				.died = TIME_NEVER };

	if (is_bare(left) && left->jitted == bare.jitted)
		bare.start = left->start;
	if (is_bare(right) && right->jitted == bare.jitted)
		bare.end = right->end;
	(void)process_add_mapping(l->process, &bare);
}

/* Others may be in between. */
static void unmap_segment(const struct jit_look *l, const struct binary *b,
			  const struct elf_segment *s)
{
	uint64_t at = s->address, end = s->address + s->memory_size;

	while (at < end) {
		const struct mapping *m = find(l, at);

		if (!m)
			return;
		at = m->end;
		if (m->binary == b)
			unmap_part(l, m);
	}
}

void jit_code_unmap(const struct jit_look *l, const struct jit_object *object)
{
	for (size_t i = 0; i < object->n_code; i++)
		unmap_segment(l, object->binary, &object->binary->elf.segments[i]);
}

static const struct jit_object *owner_of(const struct jit_look *l, const struct binary *b)
{
	for (size_t i = 0; i < l->objects->n; i++)
		if (l->objects->objects[i].binary == b)
			return &l->objects->objects[i];
	return NULL;
}

/* Is it in memory without another binary, as generated code is, or with one that says less? */
static bool may_cover(const struct jit_look *l, const struct jit_object *object,
		      const struct mapping *m)
{
	const struct jit_object *other;

	if (is_bare(m))
		return true;
	other = m && is_object(m->binary) ? owner_of(l, m->binary) : NULL;
	return other && (other->source < object->source ||
			 (object->source == JIT_DUMP_FILE && other->source == JIT_DUMP_FILE &&
			  other->at < object->at));
}

/* Where what may be covered ends, from the end of such a mapping on. */
static uint64_t find_end(const struct jit_look *l, const struct jit_object *object, uint64_t from,
			 uint64_t end)
{
	const struct mapping *m;

	while (from < end && (m = find(l, from)) && may_cover(l, object, m))
		from = m->end;
	return from < end ? from : end;
}

static void map_segment(const struct jit_look *l, const struct jit_object *object,
			const struct elf_segment *s)
{
	uint64_t at = s->address, end = s->address + s->memory_size;

	while (s->executable && at < end) {
		const struct mapping *m = find(l, at);
		struct mapping code = { .start = at,
					.offset = s->offset,
					.binary = object->binary,
					.born = l->now,
					.died = TIME_NEVER };

		if (!m)
			return;
		at = m->end;
		if (!may_cover(l, object, m))
			continue;
		if (object->source != JIT_DESCRIBED)
			code.jitted = names_of(l);
		code.end = at = find_end(l, object, at, end);
		/* Short of memory, it remains without a description. */
		(void)process_add_mapping(l->process, &code);
	}
}

/* Others may leave room. */
static bool is_shortage(int err)
{
	return err == -ENOSPC || err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

/* Its file has been read. */
static void note_code(const struct jit_look *l, struct jit_object *object)
{
	const struct elf_facts *elf = &object->binary->elf;
	struct jit_objects *o = l->objects;
	int err = object->binary->err;

	if (err == 0 && elf->n_segments > JIT_OBJECTS_CODE - o->n_code)
		err = -ENOSPC;
	if (err < 0) {
		object->retry = 0;
		if (is_shortage(err))
			jit_object_wait(l, object);
		jit_object_drop_binary(l, object);
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
static bool map_object(const struct jit_look *l, struct jit_object *object)
{
	if (binary_is_pending(object->binary) || clock_now_ns() > l->until)
		return false;
	if (object->n_code == 0)
		note_code(l, object);
	for (size_t i = 0; i < object->n_code; i++)
		map_segment(l, object, &object->binary->elf.segments[i]);
	object->is_mapped = true;
	return true;
}

void jit_code_map(const struct jit_look *l)
{
	struct jit_objects *o = l->objects;

	o->is_pending = false;
	for (size_t i = 0; i < o->n; i++)
		if (o->objects[i].binary && !o->objects[i].is_mapped)
			o->is_pending |= !map_object(l, &o->objects[i]);
	jit_frames_drop_old(l);
}
