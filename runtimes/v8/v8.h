/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_V8_V8_H
#define DP_RUNTIMES_V8_V8_H

#include "runtimes/runtime.h"

/*
 * Objects of V8's heap in a process's memory. A reference to an object is its address plus a tag; other words are small
 * integers. The collector may move objects at any time, so each object's type is checked before it is used.
 */
struct v8_reader {
	const struct runtime_memory *memory;
	const struct dp_v8 *walked;
	const struct dp_v8_names *at;
};

/* What a ScopeInfo says of its function. */
struct v8_scope {
	char name[RUNTIME_NAME_SIZE]; /* "": it has none */
	uint32_t start, end;          /* in the script's text, in characters; 0 and 0: not known */
};

/* The runtime's `find`: see struct runtime_source. */
int v8_find(const struct elf_file *file, struct dp_runtime_image *ret);

int v8_read(const struct v8_reader *r, uint64_t address, void *ret, size_t size);

/* Reads the word at an offset in an object. */
int v8_word(const struct v8_reader *r, uint64_t object, uint32_t offset, uint64_t *ret);

/* -ESTALE: the word is no object. */
int v8_type(const struct v8_reader *r, uint64_t object, uint16_t *ret);

/* Reads a member, which has to be an object of a type; else -ESTALE. */
int v8_member(const struct v8_reader *r, uint64_t object, uint32_t offset, uint16_t type,
	      uint64_t *ret);

/* The value of a small integer; -ESTALE: it is none, or negative. */
int v8_smi(uint64_t word, uint32_t *ret);

/* Reads a string as UTF-8, cut to the room for it. -ESTALE: it is none, or of a kind that cannot be read. */
int v8_string(const struct v8_reader *r, uint64_t object, char ret[RUNTIME_NAME_SIZE]);

/* -ESTALE: it is none. */
int v8_scope(const struct v8_reader *r, uint64_t object, struct v8_scope *ret);

/* Where the lines between two places of a script's text end. Places are in its characters, of UTF-16. */
struct v8_lines {
	uint32_t first; /* number of the first line, from 1 on, */
	uint32_t start; /* and where that begins */
	uint32_t *ends; /* owned; places in the text, in order */
	size_t n, size;
};

/* 0, or a negative errno: they are not known. */
int v8_lines_read(const struct v8_reader *r, uint64_t script, uint32_t start, uint32_t end,
		  struct v8_lines *ret);
void v8_lines_done(struct v8_lines *lines);

/* The line of a place, and its column, from 1 on; 0: it is in front of the first line. */
uint32_t v8_lines_find(const struct v8_lines *lines, uint32_t place, uint32_t *ret_column);

/*
 * A table of source positions, in order of offsets in code (src/codegen/source-position-table.cc), of which
 * -1 is a function's entry. A position has a place in a script, plus one, and in compiled code the number of an inlined call, plus one
 * (src/codegen/source-position.h).
 */
struct v8_table {
	uint8_t *bytes; /* owned */
	size_t at, size;
	int64_t offset;
	uint64_t position;
};

#define V8_PLACE(position) ((uint32_t)((position) >> 1 & 0x3fffffff) - 1)
#define V8_NO_PLACE UINT32_MAX
#define V8_INLINED(position) ((uint32_t)((position) >> 31 & 0xffff) - 1)

int v8_table_read(const struct v8_reader *r, uint64_t object, struct v8_table *ret);

/* Reads the bytes of another array, which are at `data` in it. */
int v8_bytes_read(const struct v8_reader *r, uint64_t object, uint32_t data, struct v8_table *ret);
void v8_table_done(struct v8_table *table);
bool v8_table_next(struct v8_table *table);

/* An object refers to what is looked for by its type within its first words. */
#define V8_MAX_MEMBERS 6

/* Types of arrays of bytes, and of words. */
bool v8_is_bytes(const struct v8_reader *r, uint16_t type);
bool v8_is_array(const struct v8_reader *r, uint16_t type);

/* The runtime's `expand`: what TurboFan and Maglev have inlined. */
int v8_expand(const void *layout, const struct dp_runtime_frame *frame,
	      const struct runtime_memory *memory, struct dp_runtime_frame *ret);

/*
 * Finds the bytecode that an offset in code of the baseline compiler belongs to, by the code's table. *ret is
 * an offset in the BytecodeArray's bytes. -ENOENT: it is in front of the first one; -ESTALE: this is no
 * such table, or the lengths of bytecodes are not known.
 */
int v8_baseline_find(const struct v8_reader *r, uint64_t bytecode, uint64_t table, uint64_t offset,
		     uint32_t *ret);

/*
 * The BytecodeArray of a function, to which `data` of its SharedFunctionInfo leads, or that of baseline
 * code. -ESTALE: it has none.
 */
int v8_bytecode(const struct v8_reader *r, uint64_t data, uint64_t *ret);

/* Where in the script a function's bytecode is from a byte on, up to the next position. */
struct v8_position {
	uint32_t offset;
	uint32_t place;
};

/*
 * Reads the positions of a function's bytecode, to which `data` of its SharedFunctionInfo leads. *ret is
 * allocated. 0, or a negative errno: they are not known.
 */
int v8_positions_read(const struct v8_reader *r, uint64_t data, struct v8_position **ret,
		      size_t *ret_n);

#endif
