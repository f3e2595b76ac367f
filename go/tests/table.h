/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_GO_TESTS_TABLE_H
#define DP_GO_TESTS_TABLE_H

/*
 * A table of Go's with two functions, put together byte by byte, in each layout:
 *
 *   text + 0x00  main.outer, /src/outer.go:10
 *          0x08                            11
 *          0x10    main.middle[go.shape.int], /src/inner.go:20, called at line 11
 *          0x18      main.inner,              /src/inner.go:30, called at line 20
 *          0x20                            12
 *          0x38  padding
 *          0x40  main.plain, /src/outer.go:40, up to 0x60
 */

#include "cfi/tests/assembler.h"
#include "go/inline_tree.h"
#include "go/pclntab.h"

#define TEXT 0x401000
#define DATA 0x480000 /* where Go 1.16 finds functions' data */
#define N_FUNCTIONS 2

struct table {
	struct assembler bytes;
	enum pclntab_layout layout;
	/* Where parts and what is in them start in the bytes */
	uint32_t names, units, files, values, functions, records[N_FUNCTIONS];
	/* Where in their parts */
	uint32_t outer, middle, inner, plain;
	uint32_t sp, file, line, inlined, plain_line, plain_file;
	struct assembler calls; /* the inlined ones */
};

static const enum pclntab_layout layouts[] = { PCLNTAB_GO_1_16, PCLNTAB_GO_1_18, PCLNTAB_GO_1_20 };

static inline uint32_t put_name(struct assembler *a, uint32_t part, const char *name)
{
	uint32_t at = (uint32_t)a->size - part;

	put_string(a, name);
	return at;
}

/* A value that changes by that much, and holds for so many bytes. */
static inline void put_value(struct assembler *a, int64_t change, uint64_t length)
{
	put_uleb(a, change < 0 ? (uint64_t)(-change) * 2 - 1 : (uint64_t)change * 2);
	put_uleb(a, length);
}

static inline void align(struct assembler *a)
{
	while (a->size % 8 != 0)
		put_u8(a, 0);
}

static inline void put_strings(struct table *t)
{
	struct assembler *a = &t->bytes;

	t->names = (uint32_t)a->size;
	t->outer = put_name(a, t->names, "main.outer");
	t->middle = put_name(a, t->names, "main.middle[go.shape.int]");
	t->inner = put_name(a, t->names, "main.inner");
	t->plain = put_name(a, t->names, "main.plain");
	align(a);
	t->units = (uint32_t)a->size;
	put_u32(a, 0), put_u32(a, 14), put_u32(a, UINT32_MAX);
	align(a);
	t->files = (uint32_t)a->size;
	put_string(a, "/src/outer.go"), put_string(a, "/src/inner.go");
	align(a);
}

static inline uint32_t values_begin(struct table *t)
{
	return (uint32_t)t->bytes.size - t->values;
}

static inline void put_values(struct table *t)
{
	struct assembler *a = &t->bytes;

	t->values = (uint32_t)a->size;
	put_u8(a, 0); /* at 0 there are none */
	t->sp = values_begin(t);
	put_value(a, 1, 4), put_value(a, 32, 0x34), put_u8(a, 0);
	t->file = values_begin(t);
	put_value(a, 1, 0x10), put_value(a, 1, 0x10), put_value(a, -1, 0x18), put_u8(a, 0);
	t->line = values_begin(t);
	put_value(a, 11, 8), put_value(a, 1, 8), put_value(a, 9, 8), put_value(a, 10, 8);
	put_value(a, -18, 0x18), put_u8(a, 0);
	t->inlined = values_begin(t);
	put_value(a, 0, 0x10), put_value(a, 1, 8), put_value(a, 1, 8), put_value(a, -2, 0x18);
	put_u8(a, 0);
	t->plain_file = values_begin(t);
	put_value(a, 1, 0x20), put_u8(a, 0);
	t->plain_line = values_begin(t);
	put_value(a, 41, 0x20), put_u8(a, 0);
	align(a);
}

/* What describes a function. */
static inline void put_record(struct table *t, int number, uint64_t start, uint32_t name,
			      uint32_t sp, uint32_t file, uint32_t line)
{
	struct assembler *a = &t->bytes;
	bool has_more = number == 0;

	align(a);
	t->records[number] = (uint32_t)a->size;
	if (t->layout == PCLNTAB_GO_1_16)
		put_u64(a, TEXT + start);
	else
		put_u32(a, (uint32_t)start);
	put_u32(a, name), put_u32(a, 0), put_u32(a, 0);
	put_u32(a, sp), put_u32(a, file), put_u32(a, line);
	put_u32(a, has_more ? 3 : 0);
	put_u32(a, 0); /* unit */
	if (t->layout == PCLNTAB_GO_1_20)
		put_u32(a, 10);
	put_u8(a, 7), put_u8(a, PCLNTAB_ASM), put_u8(a, 0), put_u8(a, has_more ? 4 : 0);
	if (!has_more)
		return;
	put_u32(a, 0), put_u32(a, 0), put_u32(a, t->inlined);
	if (t->layout == PCLNTAB_GO_1_16) {
		align(a);
		put_u64(a, 0), put_u64(a, 0), put_u64(a, 0), put_u64(a, DATA + 8);
	} else {
		put_u32(a, UINT32_MAX), put_u32(a, UINT32_MAX), put_u32(a, UINT32_MAX);
		put_u32(a, 8);
	}
}

static inline void put_call(struct table *t, uint32_t name, int32_t caller)
{
	struct assembler *a = &t->calls;

	put_u32(a, 0);
	if (t->layout != PCLNTAB_GO_1_20)
		put_u32(a, 0), put_u32(a, 0);
	put_u32(a, name), put_u32(a, (uint32_t)caller);
	if (t->layout == PCLNTAB_GO_1_20)
		put_u32(a, 0);
}

static inline void set_u32(struct assembler *a, size_t at, uint32_t v)
{
	memcpy(a->bytes + at, &v, sizeof(v));
}

static inline void set_u64(struct assembler *a, size_t at, uint64_t v)
{
	memcpy(a->bytes + at, &v, sizeof(v));
}

/* The list of functions, whose records follow it. */
static inline void put_functions(struct table *t)
{
	static const uint32_t starts[] = { 0, 0x40, 0x60 };
	struct assembler *a = &t->bytes;
	size_t size = t->layout == PCLNTAB_GO_1_16 ? 16 : 8, list;

	list = t->functions = (uint32_t)a->size;
	for (size_t i = 0; i < size / 4 * (N_FUNCTIONS + 1); i++)
		put_u32(a, 0);
	put_record(t, 0, 0, t->outer, t->sp, t->file, t->line);
	put_record(t, 1, 0x40, t->plain, 0, t->plain_file, t->plain_line);
	for (size_t i = 0; i <= N_FUNCTIONS; i++) {
		uint32_t record = i < N_FUNCTIONS ? t->records[i] - t->functions : 0;

		if (t->layout == PCLNTAB_GO_1_16) {
			set_u64(a, list + size * i, TEXT + starts[i]);
			set_u64(a, list + size * i + 8, record);
		} else {
			set_u32(a, list + size * i, starts[i]);
			set_u32(a, list + size * i + 4, record);
		}
	}
}

static inline void table_make(struct table *t, enum pclntab_layout layout)
{
	static const uint32_t magics[] = { 0xfffffffa, 0xfffffff0, 0xfffffff1 };
	struct assembler *a = &t->bytes;
	size_t parts;

	memset(t, 0, sizeof(*t));
	t->layout = layout;
	put_u32(a, magics[layout]);
	put_u8(a, 0), put_u8(a, 0), put_u8(a, 1), put_u8(a, 8);
	put_u64(a, N_FUNCTIONS), put_u64(a, 2);
	if (layout != PCLNTAB_GO_1_16)
		put_u64(a, TEXT);
	parts = a->size;
	for (int i = 0; i < 5; i++)
		put_u64(a, 0);
	put_strings(t);
	put_values(t);
	put_functions(t);
	set_u64(a, parts, t->names), set_u64(a, parts + 8, t->units);
	set_u64(a, parts + 16, t->files), set_u64(a, parts + 24, t->values);
	set_u64(a, parts + 32, t->functions);
	put_u64(&t->calls, 0); /* other data */
	put_call(t, t->middle, 8);
	put_call(t, t->inner, 0x10);
}

static inline struct go_data table_data(const struct table *t)
{
	return (struct go_data){ t->calls.bytes, t->calls.size,
				 t->layout == PCLNTAB_GO_1_16 ? DATA : 0 };
}

#endif
