// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "elf/elf_symbols.h"
#include "runtimes/python/python.h"
#include "runtimes/python/tasks.h"

#define COOKIE "xdebugpy"
#define COOKIE_SIZE 8

/*
 * Where struct _Py_DebugOffsets of a version has the offset of each member of struct dp_runtime_image
 * (Include/internal/pycore_runtime.h, pycore_debug_offsets.h).
 */
struct published {
	uint16_t version, size;
	uint8_t link; /* the least owner of a frame that is none, FRAME_OWNED_BY_..., pycore_frame.h */
	uint8_t string_kind, string_kind_free; /* of struct dp_python_names, and without the lock */
	uint16_t free_threaded;
	uint16_t interpreters, next_interpreter, first_thread, next_thread, thread_id, thread_frame;
	uint16_t previous, code, position, entry;
	uint16_t copies, copy; /* 0: the version has none */
	uint16_t name, line, qualname, filename, lines, instructions;
	uint16_t string_size, string_state, string_ascii, bytes_size, bytes;
	struct {
		uint16_t type, type_name, type_flags, set_mask, set_table, digits, next_node;
		uint16_t generator_frame, generator_state, stack;
		/* Values of the version; 0: it publishes nothing of tasks */
		uint8_t awaited_slot, generator;
		int8_t awaiting, ended;
	} tasks;
};

static const struct published versions[] = {
#include "runtimes/python/published.h"
};

/* An ASCII string's hash follows its length (struct PyASCIIObject); the text of another one has its UTF-8 form in front. */
#define HASH_AFTER_LENGTH 8
#define UTF8_SIZE 16

/* What _PyRuntime begins with, by its version's places; is_wrong: a value is no offset. */
struct offsets {
	const uint8_t *bytes;
	const struct published *at;
	bool is_wrong;
};

static uint32_t value_at(struct offsets *o, uint16_t place)
{
	uint64_t value;

	memcpy(&value, o->bytes + place, sizeof(value));
	o->is_wrong |= value > UINT16_MAX * 64ULL;
	return o->is_wrong ? 0 : (uint32_t)value;
}

/* Of a member that a version need not publish, and a build with the lock does not have. 0: there is none. */
static uint32_t optional_at(struct offsets *o, uint16_t place)
{
	return place ? value_at(o, place) : 0;
}

/* A structure's end, as far as it is read. */
static uint32_t frame_size(const struct dp_python *l)
{
	const uint32_t ends[] = { l->previous + 8, l->code + 8, l->position + 8, l->entry + 1,
				  l->copy + 4 };
	uint32_t size = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		size = ends[i] > size ? ends[i] : size;
	return size;
}

static struct dp_python read_walk(struct offsets *o)
{
	const struct published *at = o->at;
	struct dp_python l = {
		.interpreters = value_at(o, at->interpreters),
		.next_interpreter = value_at(o, at->next_interpreter),
		.first_thread = value_at(o, at->first_thread),
		.next_thread = value_at(o, at->next_thread),
		.thread_id = value_at(o, at->thread_id),
		.thread_frame = value_at(o, at->thread_frame),
		.previous = value_at(o, at->previous),
		.code = value_at(o, at->code),
		.position = value_at(o, at->position),
		.position_size = sizeof(uint64_t),
		.entry = value_at(o, at->entry),
		.entry_kind = DP_PYTHON_ENTRY_LINK,
		.link = at->link,
		.name = value_at(o, at->name),
		.line = value_at(o, at->line),
		.hash = value_at(o, at->string_size) + HASH_AFTER_LENGTH,
		.copies = optional_at(o, at->copies),
		.copy = optional_at(o, at->copy),
	};

	l.frame_size = frame_size(&l);
	return l;
}

static struct dp_python_names read_names(struct offsets *o)
{
	const struct published *at = o->at;

	return (struct dp_python_names){
		.version = at->version,
		.qualname = value_at(o, at->qualname),
		.filename = value_at(o, at->filename),
		.lines = value_at(o, at->lines),
		/* The kernel sends offsets from the code object where there are copies. */
		.instructions = optional_at(o, at->copies) ? 0 : value_at(o, at->instructions),
		.string_size = value_at(o, at->string_size),
		.string_state = value_at(o, at->string_state),
		.string_ascii = value_at(o, at->string_ascii),
		.string_text = value_at(o, at->string_ascii) + UTF8_SIZE,
		.bytes_size = value_at(o, at->bytes_size),
		.bytes = value_at(o, at->bytes),
		.string_kind =
			value_at(o, at->free_threaded) ? at->string_kind_free : at->string_kind,
	};
}

static const struct published *find_version(uint32_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (versions[i].version == version)
			return &versions[i];
	return NULL;
}

/* Members still move before the first release candidate (PY_RELEASE_LEVEL_GAMMA, patchlevel.h). */
#define RELEASE_LEVEL(version) ((version) >> 4 & 0xf)
#define LEVEL_CANDIDATE 0xc

static bool is_of_version(struct offsets *o)
{
	const char *cookie = (const char *)o->bytes;
	uint64_t version;

	memcpy(&version, o->bytes + COOKIE_SIZE, sizeof(version));
	return memcmp(cookie, COOKIE, COOKIE_SIZE) == 0 && version >> 16 == o->at->version &&
	       RELEASE_LEVEL(version) >= LEVEL_CANDIDATE;
}

int python_published(const struct elf_file *file, uint64_t runtime, uint32_t version,
		     struct dp_runtime_image *ret)
{
	struct offsets o = { .at = find_version(version) };

	o.bytes = o.at ? elf_bytes_at(file, runtime, o.at->size) : NULL;
	if (!o.bytes || !is_of_version(&o))
		return -ENOTSUP;
	*ret = (struct dp_runtime_image){ .python = read_walk(&o), .names = read_names(&o) };
	return o.is_wrong || ret->python.frame_size > DP_PYTHON_FRAME_SIZE ? -ENOTSUP : 0;
}

int python_published_tasks(const uint8_t *bytes, uint32_t version, struct python_tasks *ret)
{
	struct offsets o = { .bytes = bytes, .at = find_version(version) };

	if (!o.at || o.at->tasks.awaited_slot == 0 || o.at->size > PYTHON_PUBLISHED_SIZE ||
	    !is_of_version(&o))
		return -ENOTSUP;
	*ret = (struct python_tasks){
		.type = value_at(&o, o.at->tasks.type),
		.type_name = value_at(&o, o.at->tasks.type_name),
		.type_flags = value_at(&o, o.at->tasks.type_flags),
		.set_mask = value_at(&o, o.at->tasks.set_mask),
		.set_table = value_at(&o, o.at->tasks.set_table),
		.digits = value_at(&o, o.at->tasks.digits),
		.next_node = value_at(&o, o.at->tasks.next_node),
		.generator_frame = value_at(&o, o.at->tasks.generator_frame),
		.generator_state = value_at(&o, o.at->tasks.generator_state),
		.stack = value_at(&o, o.at->tasks.stack),
		.awaited_slot = o.at->tasks.awaited_slot,
		.generator = o.at->tasks.generator,
		.awaiting = o.at->tasks.awaiting,
		.ended = o.at->tasks.ended,
	};
	return o.is_wrong ? -ENOTSUP : 0;
}
