// SPDX-License-Identifier: Apache-2.0
/* Classes that JVMs may have, with the fields that lead to frames in the heap. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "runtimes/hotspot/chunk.h"

/* Where things are in memory, and their members. */
enum {
	HEAD = 0x10,
	OOPS = 0x20,
	CLASSES = 0x40,
	LOADERS = 0x100,
	KLASSES = 0x1000,
	POOLS = 0x4000,
	STREAMS = 0x8000,
	TEXTS = 0xa000
};
enum {
	NEXT = 8,
	LIST = 16,
	NAME = 8,
	LINK = 16,
	LAYOUT = 24,
	FIELDS = 32,
	CONSTANTS = 40,
	DATA = 8,
	POOL_SIZE = 16
};
enum { MAX_KLASSES = 8, KLASS = 0x100, POOL = 0x100, STREAM = 0x100, TEXT = 0x40 };
/* Flags of a field: a generic signature follows. */
enum { PLAIN = 0, GENERIC = 4 };
#define CLASS_BASE 0x800

static uint8_t memory[0x10000];
static struct hotspot_layout layout;
static size_t n_klasses, n_texts;

static int read_memory(void *unused, void *ret, size_t size, uint64_t address)
{
	if (address >= sizeof(memory) || size > sizeof(memory) - address)
		return -EFAULT;
	memcpy(ret, memory + address, size);
	return 0;
}

static void put(uint64_t address, uint64_t value)
{
	memcpy(memory + address, &value, sizeof(value));
}

static uint64_t put_symbol(const char *text)
{
	uint64_t at = TEXTS + n_texts++ * TEXT;

	memory[at] = (uint8_t)strlen(text);
	memcpy(memory + at + 2, text, strlen(text));
	return at;
}

static uint64_t klass_at(size_t i)
{
	return KLASSES + i * KLASS;
}

/* Adds a class in front of the others of the first loader. */
static size_t add_class(const char *name)
{
	size_t i = n_klasses++;
	uint64_t klass = klass_at(i);

	put(klass + NAME, put_symbol(name));
	put(klass + LINK, i > 0 ? klass_at(i - 1) : 0);
	put(klass + LAYOUT, 65); /* 64 bytes, and a flag */
	put(klass + FIELDS, STREAMS + i * STREAM);
	put(klass + CONSTANTS, POOLS + i * POOL);
	/* No fields: numbers are larger by one. */
	memory[STREAMS + i * STREAM + DATA] = memory[STREAMS + i * STREAM + DATA + 1] = 1;
	put(LOADERS + LIST, klass);
	return i;
}

static uint8_t *put_numbers(uint8_t *to, const uint8_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*to++ = (uint8_t)(numbers[i] + 1);
	return to;
}

/* Gives a class fields with these names, 16 bytes and more from the object's beginning. */
static void put_fields(size_t i, const char *const *names, uint8_t n)
{
	uint8_t *to = memory + STREAMS + i * STREAM + DATA;

	to = put_numbers(to, (uint8_t[]){ n, 0 }, 2);
	for (uint8_t f = 0; f < n; f++) {
		bool is_generic = f % 2 == 0;
		const uint8_t field[] = { (uint8_t)(f + 1),
					  20,
					  (uint8_t)(16 + 4 * f),
					  2,
					  is_generic ? GENERIC : PLAIN,
					  30 };

		put(POOLS + i * POOL + POOL_SIZE + (f + 1U) * 8, put_symbol(names[f]));
		to = put_numbers(to, field, is_generic ? 6 : 5);
	}
}

static void begin(void)
{
	memset(memory, 0, sizeof(memory));
	memset(&layout, 0, sizeof(layout));
	n_klasses = n_texts = 0;
	layout.has_continuations = true;
	layout.pool_size = POOL_SIZE;
	layout.at[HOTSPOT_SYMBOL_BODY] = 2;
	layout.at[HOTSPOT_LOADERS] = HEAD;
	layout.at[HOTSPOT_LOADER_NEXT] = NEXT;
	layout.at[HOTSPOT_LOADER_CLASSES] = LIST;
	layout.at[HOTSPOT_KLASS_NAME] = NAME;
	layout.at[HOTSPOT_KLASS_NEXT] = LINK;
	layout.at[HOTSPOT_KLASS_LAYOUT] = LAYOUT;
	layout.at[HOTSPOT_CLASS_FIELDS] = FIELDS;
	layout.at[HOTSPOT_CLASS_CONSTANTS] = CONSTANTS;
	layout.at[HOTSPOT_BYTES_DATA] = DATA;
	layout.at[HOTSPOT_OOP_CLASS] = 8;
	layout.at[HOTSPOT_OOP_BASE] = OOPS;
	layout.at[HOTSPOT_OOP_SHIFT] = OOPS + 8;
	layout.at[HOTSPOT_CLASS_BASE] = CLASSES;
	layout.at[HOTSPOT_CLASS_SHIFT] = CLASSES + 8;
	layout.at[HOTSPOT_ENTRY_RETURN] = 0x500;
	/* Another loader was made later. */
	put(HEAD, LOADERS + 0x40);
	put(LOADERS + 0x40 + NEXT, LOADERS);
	put(OOPS, 0x700000000);
	put(OOPS + 8, 3);
	put(CLASSES, CLASS_BASE);
	put(CLASSES + 8, 2);
	add_class("java/lang/Object");
}

TestSuite(hotspot_chunk, .init = begin);

static int read_chunk(struct dp_hotspot *ret)
{
	*ret = (struct dp_hotspot){ 0 };
	return hotspot_chunk_read(&layout, read_memory, NULL, ret);
}

static const char *const fields_of_25[] = { "parent", "size", "sp", "bottom" };
static const char *const fields_of_21[] = { "parent", "size", "sp", "argsize" };
static const char *const other_fields[] = { "parents", "s", "Sp", "" };
static const char *const fields_of_continuation[] = { "target", "tail" };

static void add_classes(const char *const *fields)
{
	put_fields(add_class("jdk/internal/vm/StackChunk"), fields, 4);
	put_fields(add_class("jdk/internal/vm/Continuation"), fields_of_continuation, 2);
	add_class("jdk/internal/vm/StackChunkOther");
}

Test(hotspot_chunk, finds_the_fields)
{
	struct dp_hotspot found;

	add_classes(fields_of_25);
	cr_assert_eq(read_chunk(&found), 0);
	cr_expect_eq(found.chunk_parent, 16);
	cr_expect_eq(found.chunk_sp, 24);
	cr_expect_eq(found.chunk_end, 28);
	cr_expect_eq(found.chunk_stack, 64);
	cr_expect_eq(found.tail, 20);
	cr_expect_eq(found.oop_base, 0x700000000);
	cr_expect_eq(found.oop_shift, 3);
	cr_expect_eq(found.oop_class, 8);
	cr_expect_eq(found.chunk_class, (klass_at(1) - CLASS_BASE) >> 2);
	cr_expect_eq(found.return_pc, 0x500);
}

Test(hotspot_chunk, an_empty_one_of_jdk_21_has_its_size)
{
	struct dp_hotspot found;

	add_classes(fields_of_21);
	cr_assert_eq(read_chunk(&found), 0);
	cr_expect_eq(found.chunk_end, 20);
}

Test(hotspot_chunk, waits_for_the_classes)
{
	struct dp_hotspot found;

	cr_expect_eq(read_chunk(&found), -EAGAIN);
	put(LOADERS + LIST, 0xffff0000);
	cr_expect_eq(read_chunk(&found), -EAGAIN);
	put(HEAD, 0);
	cr_expect_eq(read_chunk(&found), -EAGAIN);
	cr_expect_eq(found.return_pc, 0);
}

Test(hotspot_chunk, gives_up_what_makes_no_sense)
{
	struct dp_hotspot found;

	add_classes(other_fields);
	cr_expect_eq(read_chunk(&found), -ENOTSUP);
	layout.has_continuations = false;
	add_classes(fields_of_25);
	cr_expect_eq(read_chunk(&found), -ENOTSUP);
	layout.has_continuations = true;
	/* Lists without end. */
	put(klass_at(0) + LINK, klass_at(0));
	put(LOADERS + LIST, klass_at(0));
	cr_expect_eq(read_chunk(&found), -ENOTSUP);
	put(LOADERS + NEXT, LOADERS);
	cr_expect_eq(read_chunk(&found), -ENOTSUP);
	cr_expect_eq(found.return_pc, 0);
}
