// SPDX-License-Identifier: Apache-2.0
#include "runtimes/hotspot/chunk.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "limits/limits.h"
#include "runtimes/hotspot/scope.h"

/* Bytes: of a class's stream of fields, a name, an object without what is appended to it. */
#define STREAM_SIZE 1024
#define NAME_SIZE 64
#define OBJECT_SIZE 4096

/* FieldInfo's flags: a further number follows for each. */
#define FIELD_INITIALIZED (1U << 0)
#define FIELD_GENERIC (1U << 2)
#define FIELD_CONTENDED (1U << 4)

struct class_reader {
	const struct hotspot_layout *layout;
	hotspot_read *read;
	void *memory;
};

static int read_at(const struct class_reader *r, uint64_t address, void *ret, size_t size)
{
	return r->read(r->memory, ret, size, address);
}

static int read_word(const struct class_reader *r, uint64_t object, enum hotspot_member member,
		     __u64 *ret)
{
	return read_at(r, object + r->layout->at[member], ret, sizeof(*ret));
}

static bool is_named(const struct class_reader *r, uint64_t symbol, const char *name)
{
	const uint64_t *at = r->layout->at;
	size_t size = strlen(name);
	char text[NAME_SIZE];
	uint16_t length;

	return read_at(r, symbol + at[HOTSPOT_SYMBOL_LENGTH], &length, sizeof(length)) == 0 &&
	       length == size && size <= sizeof(text) &&
	       read_at(r, symbol + at[HOTSPOT_SYMBOL_BODY], text, size) == 0 &&
	       memcmp(text, name, size) == 0;
}

/* The first loader that there was, the last one of their list, is the JVM's own. */
static int find_loader(const struct class_reader *r, __u64 *ret)
{
	__u64 next;
	int err = read_word(r, 0, HOTSPOT_LOADERS, &next);

	*ret = 0;
	for (size_t i = 0; err == 0 && next != 0; i++) {
		if (i == HOTSPOT_MAX_LOADERS)
			return -ENOTSUP;
		*ret = next;
		err = read_word(r, next, HOTSPOT_LOADER_NEXT, &next);
	}
	return err == 0 && *ret == 0 ? -EAGAIN : err;
}

/* Finds a class by its name. */
static int find_class(const struct class_reader *r, uint64_t loader, const char *name, __u64 *ret)
{
	__u64 symbol;
	int err = read_word(r, loader, HOTSPOT_LOADER_CLASSES, ret);

	for (size_t i = 0; err == 0 && i < HOTSPOT_MAX_CLASSES; i++) {
		if (*ret == 0)
			return -EAGAIN;
		err = read_word(r, *ret, HOTSPOT_KLASS_NAME, &symbol);
		if (err == 0 && is_named(r, symbol, name))
			return 0;
		if (err == 0)
			err = read_word(r, *ret, HOTSPOT_KLASS_NEXT, ret);
	}
	return err < 0 ? err : -ENOTSUP;
}

/* A field of a class, as its stream of these has it. */
struct field {
	uint32_t name, signature, offset, access, flags;
};

static int read_field(struct hotspot_stream *s, struct field *ret)
{
	static const uint32_t more[] = { FIELD_INITIALIZED, FIELD_GENERIC, FIELD_CONTENDED };
	uint32_t *const parts[] = { &ret->name, &ret->signature, &ret->offset, &ret->access,
				    &ret->flags };
	uint32_t unused;
	int err = 0;

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(parts); i++)
		err = hotspot_stream_int(s, parts[i]);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(more); i++)
		if (ret->flags & more[i])
			err = hotspot_stream_int(s, &unused);
	return err;
}

/* Where an object has the field of its class with a name. -ENOTSUP: it has none. */
static int find_field(const struct class_reader *r, uint64_t class, const char *name, uint32_t *ret)
{
	struct hotspot_stream stream = { .read = r->read, .memory = r->memory, .excluded = 1 };
	uint32_t n = 0, n_injected;
	__u64 bytes, pool, symbol;
	struct field field;
	int err = read_word(r, class, HOTSPOT_CLASS_FIELDS, &bytes);

	if (err == 0)
		err = read_word(r, class, HOTSPOT_CLASS_CONSTANTS, &pool);
	if (err < 0)
		return err;
	stream.at = bytes + r->layout->at[HOTSPOT_BYTES_DATA];
	stream.end = stream.at + STREAM_SIZE;
	err = hotspot_stream_int(&stream, &n);
	if (err == 0)
		err = hotspot_stream_int(&stream, &n_injected);
	for (uint32_t i = 0; err == 0 && i < n && i < HOTSPOT_MAX_FIELDS; i++) {
		err = read_field(&stream, &field);
		if (err == 0)
			err = read_at(r, pool + r->layout->pool_size + field.name * sizeof(symbol),
				      &symbol, sizeof(symbol));
		if (err == 0 && is_named(r, symbol, name)) {
			*ret = field.offset;
			return field.offset < OBJECT_SIZE ? 0 : -ENOTSUP;
		}
	}
	return err < 0 ? err : -ENOTSUP;
}

/* An empty one ends where its frames begin: JDK 21 has only a size in place of that. */
static int find_chunk_fields(const struct class_reader *r, uint64_t chunk, struct dp_hotspot *ret)
{
	int err = find_field(r, chunk, "sp", &ret->chunk_sp);

	if (err == 0)
		err = find_field(r, chunk, "parent", &ret->chunk_parent);
	if (err < 0)
		return err;
	err = find_field(r, chunk, "bottom", &ret->chunk_end);
	return err == -ENOTSUP ? find_field(r, chunk, "size", &ret->chunk_end) : err;
}

/* How an object refers to its class, and to others. */
static int read_references(const struct class_reader *r, uint64_t chunk, struct dp_hotspot *ret)
{
	const uint64_t *at = r->layout->at;
	__u64 class_base;
	int32_t class_shift, layout;
	int err =
		read_word(r, 0, HOTSPOT_OOP_BASE, &ret->oop_base) ?:
			read_at(r, at[HOTSPOT_OOP_SHIFT], &ret->oop_shift, sizeof(ret->oop_shift)) ?:
			read_word(r, 0, HOTSPOT_CLASS_BASE, &class_base)                       ?:
			read_at(r, at[HOTSPOT_CLASS_SHIFT], &class_shift, sizeof(class_shift)) ?:
			read_at(r, chunk + at[HOTSPOT_KLASS_LAYOUT], &layout, sizeof(layout));

	if (err < 0)
		return err;
	if (layout <= 0 || layout >= OBJECT_SIZE || class_shift < 0 || class_shift > 31 ||
	    ret->oop_shift > 31 || at[HOTSPOT_OOP_CLASS] >= OBJECT_SIZE)
		return -ENOTSUP;
	ret->chunk_class = (uint32_t)((chunk - class_base) >> class_shift);
	ret->oop_class = (uint32_t)at[HOTSPOT_OOP_CLASS];
	/* The lowest bits are flags. */
	ret->chunk_stack = (uint32_t)layout & ~7U;
	return 0;
}

static bool has_all(const struct hotspot_layout *layout)
{
	static const enum hotspot_member needed[] = {
		HOTSPOT_LOADERS,     HOTSPOT_LOADER_NEXT,  HOTSPOT_LOADER_CLASSES,
		HOTSPOT_KLASS_NEXT,  HOTSPOT_KLASS_LAYOUT, HOTSPOT_CLASS_FIELDS,
		HOTSPOT_BYTES_DATA,  HOTSPOT_OOP_CLASS,    HOTSPOT_CLASS_CONSTANTS,
		HOTSPOT_OOP_BASE,    HOTSPOT_OOP_SHIFT,    HOTSPOT_CLASS_BASE,
		HOTSPOT_CLASS_SHIFT, HOTSPOT_ENTRY_RETURN,
	};

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!hotspot_layout_has(layout, needed[i]))
			return false;
	return layout->has_continuations;
}

int hotspot_chunk_read(const struct hotspot_layout *layout, hotspot_read *read, void *memory,
		       struct dp_hotspot *ret)
{
	const struct class_reader r = { layout, read, memory };
	__u64 loader, chunk, continuation;
	int err;

	if (!has_all(layout))
		return -ENOTSUP;
	err = find_loader(&r, &loader);
	if (err == 0)
		err = find_class(&r, loader, "jdk/internal/vm/StackChunk", &chunk);
	if (err == 0)
		err = find_class(&r, loader, "jdk/internal/vm/Continuation", &continuation);
	if (err == 0)
		err = find_chunk_fields(&r, chunk, ret);
	if (err == 0)
		err = find_field(&r, continuation, "tail", &ret->tail);
	if (err == 0)
		err = read_references(&r, chunk, ret);
	if (err < 0)
		return err == -ENOTSUP ? err : -EAGAIN;
	ret->return_pc = layout->at[HOTSPOT_ENTRY_RETURN];
	return 0;
}
