// SPDX-License-Identifier: Apache-2.0
/* Ruby's instruction sequences (rb_iseq_t), from the memory of their process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "limits/limits.h"
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

#define BLOCK_WORDS (sizeof(struct block) / sizeof(uint64_t))

/* As the layout has it. */
#define MAX_LINE_SIZE 32

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

/* What a body says of its lines. */
struct places {
	uint64_t instructions, lines, index;
	uint32_t size, n;
};

static int read_places(const struct reader *r, uint64_t body, struct places *ret)
{
	const struct dp_ruby_names *l = r->names;
	int err = memory_word(r->memory, body + l->instructions, &ret->instructions);

	if (err == 0)
		err = memory_half(r->memory, body + l->size, &ret->size);
	if (err == 0)
		err = memory_word(r->memory, body + l->lines, &ret->lines);
	if (err == 0)
		err = memory_half(r->memory, body + l->n_lines, &ret->n);
	if (err == 0)
		err = memory_word(r->memory, body + l->index, &ret->index);
	return err;
}

/* Those of a function that has no lines, or more than are read, are 0. */
static void bound(const struct reader *r, struct places *p)
{
	uint32_t line_size = r->names->line_size;

	if (p->size == 0 || p->size > RUBY_MAX_CODE || p->n > RUBY_MAX_LINES ||
	    line_size < sizeof(uint32_t) || line_size > MAX_LINE_SIZE)
		p->n = 0;
}

/* Of the index: a single line has none. */
static size_t count_words(const struct places *p)
{
	size_t n_blocks = p->size > IMMEDIATE ? (p->size - IMMEDIATE + BLOCK - 1) / BLOCK : 0;

	if (p->n <= 1)
		return 0;
	return n_blocks > 0 ? IMMEDIATE_WORDS + n_blocks * BLOCK_WORDS : (p->size + 8) / 9;
}

/* Lines of a function, as they are kept to be found when it is gone. */
struct kept_lines {
	uint64_t instructions;
	uint32_t size, n;
	uint64_t n_words;
	uint64_t index[]; /* and then what has the lines */
};

static int read_lines(const struct reader *r, const struct places *p, struct kept_lines *ret)
{
	size_t n_words = count_words(p);
	int err = 0;

	*ret = (struct kept_lines){ p->instructions, p->size, p->n, n_words };
	if (n_words > 0)
		err = memory_read(r->memory, p->index, ret->index, n_words * sizeof(uint64_t));
	if (err == 0 && p->n > 0)
		err = memory_read(r->memory, p->lines, ret->index + n_words,
				  (size_t)p->n * r->names->line_size);
	return err;
}

/* The number of the line's entry that a position has, counted from 1. */
static uint64_t find_entry(const struct kept_lines *k, uint64_t position)
{
	struct block b;
	uint64_t i;

	if (k->n == 1)
		return 1;
	if (position < IMMEDIATE)
		return k->index[position / 9] >> position % 9 * 7 & 0x7f;
	position -= IMMEDIATE;
	memcpy(&b, k->index + IMMEDIATE_WORDS + position / BLOCK * BLOCK_WORDS, sizeof(b));
	i = position % BLOCK / 64;
	return b.before + (i > 0 ? b.ranks >> (i - 1) * 9 & 0x1ff : 0) +
	       (uint64_t)__builtin_popcountll(b.bits[i] << (63 - position % 64));
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
			   struct runtime_code **ret)
{
	struct runtime_code *code = *ret = calloc(1, sizeof(*code));
	int err = code ? read_text(r, frame->tag, '+', code->function) : -ENOMEM;

	if (err == 0 && strcmp(code->function, "+") != 0)
		err = -ESTALE;
	return err < 0 ? err : read_text(r, frame->tag, frame->code, code->function);
}

static int make_code(const struct reader *r, uint64_t body, struct runtime_code **ret)
{
	struct runtime_code *code;
	struct places places;
	size_t size;
	int err = read_places(r, body, &places);

	if (err < 0)
		return err;
	bound(r, &places);
	size = sizeof(struct kept_lines) + count_words(&places) * sizeof(uint64_t) +
	       (size_t)places.n * r->names->line_size;
	code = *ret = calloc(1, sizeof(*code) + size);
	if (!code)
		return -ENOMEM;
	code->lines_size = size;
	return read_lines(r, &places, (void *)code->lines);
}

/* The name of a function in Ruby, and its lines. */
static int read_iseq(const struct reader *r, const struct dp_chain *chain,
		     const struct dp_runtime_frame *frame, struct runtime_code **ret)
{
	const struct dp_ruby_names *l = r->names;
	uint64_t body, string;
	int err = memory_check_tag(r->memory, chain, frame);

	if (err == 0)
		err = memory_word(r->memory, frame->code + l->body, &body);
	if (err == 0)
		err = make_code(r, body, ret);
	if (err == 0)
		err = memory_word(r->memory, body + l->label, &string);
	if (err == 0)
		err = read_string(r, string, (*ret)->function);
	if (err == 0)
		err = memory_word(r->memory, body + l->path, &string);
	if (err == 0)
		err = read_path(r, string, (*ret)->file);
	memory_forget(r->memory);
	/* Until here it may have become another one's. */
	return err < 0 ? err : memory_check_tag(r->memory, chain, frame);
}

int ruby_read_code(const void *layout, const struct dp_runtime_frame *frame,
		   const struct runtime_memory *memory, struct runtime_code **ret)
{
	const struct dp_runtime_image *image = layout;
	const struct reader r = { memory, &image->ruby };
	_cleanup_free_ struct runtime_code *code = NULL;
	int err = frame->position & DP_RUNTIME_C ? read_c_function(&r, frame, &code) :
						   read_iseq(&r, &image->chain, frame, &code);

	if (err == 0)
		*ret = steal_ptr(code);
	return err;
}

unsigned int ruby_code_line(const void *layout, const struct runtime_code *code,
			    const struct dp_runtime_frame *frame)
{
	const struct dp_runtime_image *image = layout;
	const struct kept_lines *k = (const void *)code->lines;
	uint64_t position, entry;
	unsigned int line;

	if (code->lines_size == 0 || k->n == 0)
		return 0;
	position = ((frame->position & ~DP_RUNTIME_ENTRY) - k->instructions) / sizeof(uint64_t);
	if (position > k->size)
		return 0;
	/* It is behind the instruction, and not in front of the first one. */
	entry = find_entry(k, position - (position > 0));
	if (entry == 0 || entry > k->n)
		return 0;
	memcpy(&line,
	       (const uint8_t *)(k->index + k->n_words) + (entry - 1) * image->ruby.line_size,
	       sizeof(line));
	return line;
}
