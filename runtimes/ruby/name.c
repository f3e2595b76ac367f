// SPDX-License-Identifier: Apache-2.0
/* Ruby's instruction sequences (rb_iseq_t), from the memory of their process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtimes/memory.h"
#include "runtimes/ruby/ruby.h"

/* The flags of an object (include/ruby/internal/fl_type.h, value_type.h), and of strings and arrays. */
#define OBJECT_TYPE(flags) ((flags)&0x1f)
#define OBJECT_STRING 5
#define OBJECT_ARRAY 7
#define STRING_IS_APART (1U << 13)
#define ARRAY_IS_EMBEDDED (1U << 13)
#define ARRAY_EMBEDDED_SIZE(flags) ((flags) >> 15 & 0x7f)
/* Up to 3.1, the size of an embedded string is in its flags. */
#define STRING_EMBEDDED_SIZE(flags) ((flags) >> 14 & 0x1f)
#define SIZE_IN_FLAGS 0x301
/* Texts of names in one array, each followed by what is not read (ID_ENTRY_UNIT in symbol.c). */
#define TEXTS 512
/* Offsets in an object: of what follows its flags and class. */
#define OBJECT_DATA 16

/*
 * Which line a position has (struct succ_index_table, iseq.c): for the first IMMEDIATE positions, nine
 * numbers of 7 bits in a word; for the others, a block for each BLOCK positions: the number in front of
 * it, the numbers of bits in front of each of its words but the first one, of 9 bits, and its words, in
 * which a bit begins another line.
 */
#define IMMEDIATE 54
#define IMMEDIATE_WORDS 6
#define BLOCK 512

struct block {
	uint32_t before, zero;
	uint64_t ranks;
	uint64_t bits[BLOCK / 64];
};

struct reader {
	const struct runtime_memory *memory;
	const struct dp_ruby_names *names;
};

static int read_string(const struct reader *r, uint64_t string, char ret[RUNTIME_NAME_SIZE])
{
	uint64_t flags, size, at = string + OBJECT_DATA;
	int err = memory_word(r->memory, string, &flags);

	if (err == 0 && OBJECT_TYPE(flags) != OBJECT_STRING)
		err = -ESTALE;
	if (err == 0)
		err = memory_word(r->memory, string + r->names->string_size, &size);
	if (err < 0)
		return err;
	if (flags & STRING_IS_APART)
		err = memory_word(r->memory, at + sizeof(size), &at);
	else if (r->names->version <= SIZE_IN_FLAGS)
		size = STRING_EMBEDDED_SIZE(flags);
	else
		at += sizeof(size);
	return err < 0 ? err : memory_text(r->memory, at, size, ret);
}

/* A path is a string, or an array of what was given and of the real path. */
static int read_path(const struct reader *r, uint64_t path, char ret[RUNTIME_NAME_SIZE])
{
	uint64_t flags, at = path + OBJECT_DATA;
	int err = memory_word(r->memory, path, &flags);

	if (err == 0 && OBJECT_TYPE(flags) == OBJECT_ARRAY) {
		if (!(flags & ARRAY_IS_EMBEDDED))
			err = memory_word(r->memory, at + 2 * sizeof(at), &at);
		if (err == 0)
			err = memory_word(r->memory, at, &path);
	}
	return err < 0 ? err : read_string(r, path, ret);
}

/* The number of the line's entry that a position has, counted from 1. */
static int find_entry(const struct reader *r, uint64_t index, uint64_t position, uint64_t *ret)
{
	struct block b;
	uint64_t word, i;
	int err;

	if (position < IMMEDIATE) {
		err = memory_word(r->memory, index + position / 9 * sizeof(word), &word);
		*ret = word >> position % 9 * 7 & 0x7f;
		return err;
	}
	position -= IMMEDIATE;
	err = memory_read(r->memory,
			  index + IMMEDIATE_WORDS * sizeof(word) + position / BLOCK * sizeof(b), &b,
			  sizeof(b));
	if (err < 0)
		return err;
	i = position % BLOCK / 64;
	*ret = b.before + (i > 0 ? b.ranks >> (i - 1) * 9 & 0x1ff : 0) +
	       (uint64_t)__builtin_popcountll(b.bits[i] << (63 - position % 64));
	return 0;
}

/* The line of an address among the instructions of a body; 0: it has none. */
static int read_line(const struct reader *r, uint64_t body, uint64_t address, uint32_t *ret)
{
	const struct dp_ruby_names *l = r->names;
	uint64_t instructions, lines, index, position, entry = 1;
	uint32_t size, n;
	int err = memory_word(r->memory, body + l->instructions, &instructions);

	*ret = 0;
	if (err == 0)
		err = memory_half(r->memory, body + l->size, &size);
	if (err == 0)
		err = memory_word(r->memory, body + l->lines, &lines);
	if (err == 0)
		err = memory_half(r->memory, body + l->n_lines, &n);
	if (err == 0)
		err = memory_word(r->memory, body + l->index, &index);
	position = (address - instructions) / sizeof(uint64_t);
	if (err < 0 || n == 0 || position > size)
		return err;
	/* It is behind the instruction, and not in front of the first one. */
	position -= position > 0;
	if (n > 1)
		err = find_entry(r, index, position, &entry);
	if (err < 0 || entry == 0 || entry > n)
		return err;
	return memory_half(r->memory, lines + (entry - 1) * l->line_size, ret);
}

/* An element of an array. */
static int read_element(const struct reader *r, uint64_t array, uint64_t i, uint64_t *ret)
{
	uint64_t flags = 0, n, at = array + OBJECT_DATA;
	int err = memory_word(r->memory, array, &flags);

	if (err == 0 && OBJECT_TYPE(flags) != OBJECT_ARRAY)
		err = -ESTALE;
	n = ARRAY_EMBEDDED_SIZE(flags);
	if (err == 0 && !(flags & ARRAY_IS_EMBEDDED)) {
		err = memory_word(r->memory, at, &n);
		if (err == 0)
			err = memory_word(r->memory, at + 2 * sizeof(at), &at);
	}
	if (err == 0 && i >= n)
		err = -ESTALE;
	return err < 0 ? err : memory_word(r->memory, at + i * sizeof(*ret), ret);
}

/* The text of a name by its number in what has the names (get_id_serial_entry() in symbol.c). */
static int read_text(const struct reader *r, uint64_t names, uint64_t number,
		     char ret[RUNTIME_NAME_SIZE])
{
	/* The layout was found by a parser, which somebody may have taken over. */
	unsigned int shift = r->names->number_shift % 64;
	uint64_t array, text, i = number <= r->names->last_operator ? number : number >> shift;
	int err = memory_word(r->memory, names + r->names->texts, &array);

	if (err == 0)
		err = read_element(r, array, i / TEXTS, &array);
	if (err == 0)
		err = read_element(r, array, i % TEXTS * 2, &text);
	return err < 0 ? err : read_string(r, text, ret);
}

/* The name of a function in C. What has the names has to know the shortest one. */
static int read_c_function(const struct reader *r, const struct dp_runtime_frame *frame,
			   struct runtime_code *code)
{
	int err = read_text(r, frame->tag, '+', code->function);

	if (err == 0 && strcmp(code->function, "+") != 0)
		err = -ESTALE;
	return err < 0 ? err : read_text(r, frame->tag, frame->code, code->function);
}

/* The name of a function in Ruby, and its line. */
static int read_iseq(const struct reader *r, const struct dp_chain *chain,
		     const struct dp_runtime_frame *frame, struct runtime_code *code)
{
	const struct dp_ruby_names *l = r->names;
	uint64_t body, string;
	int err = memory_check_tag(r->memory, chain, frame);

	if (err == 0)
		err = memory_word(r->memory, frame->code + l->body, &body);
	if (err == 0)
		err = read_line(r, body, frame->position & ~DP_RUNTIME_ENTRY, &code->first_line);
	if (err == 0)
		err = memory_word(r->memory, body + l->label, &string);
	if (err == 0)
		err = read_string(r, string, code->function);
	if (err == 0)
		err = memory_word(r->memory, body + l->path, &string);
	return err < 0 ? err : read_path(r, string, code->file);
}

int ruby_read_code(const void *layout, const struct dp_runtime_frame *frame,
		   const struct runtime_memory *memory, struct runtime_code **ret)
{
	const struct dp_runtime_image *image = layout;
	const struct reader r = { memory, &image->ruby };
	_cleanup_free_ struct runtime_code *code = calloc(1, sizeof(*code));
	int err;

	if (!code)
		return -ENOMEM;
	err = frame->position & DP_RUNTIME_C ? read_c_function(&r, frame, code) :
					       read_iseq(&r, &image->chain, frame, code);
	if (err == 0)
		*ret = steal_ptr(code);
	return err;
}

/* It was read for this position alone. */
unsigned int ruby_code_line(const void *layout, const struct runtime_code *code,
			    const struct dp_runtime_frame *frame)
{
	return code->first_line;
}
