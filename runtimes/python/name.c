// SPDX-License-Identifier: Apache-2.0
/* Code objects, from the memory of their process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "runtimes/python/python.h"

/*
 * The state of a string (PyASCIIObject.state), from its kind on: bytes of a character, and whether it
 * is ASCII.
 */
#define STRING_KIND(state) ((state)&7)
#define STRING_IS_COMPACT(state) ((state) >> 3 & 1)
#define STRING_IS_ASCII(state) ((state) >> 4 & 1)

/* What is read, and by which layout. */
struct reader {
	const struct runtime_memory *memory;
	const struct dp_runtime_image *image;
};

static int read_at(const struct reader *r, uint64_t address, void *ret, size_t size)
{
	return r->memory->read(r->memory->arg, ret, size, address);
}

/* Appends a character as UTF-8. False: there is no room. */
static bool put_character(char to[RUNTIME_NAME_SIZE], size_t *at, uint32_t c)
{
	uint8_t bytes[4] = { (uint8_t)c };
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t heads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	if (*at + n >= RUNTIME_NAME_SIZE)
		return false;
	for (size_t i = n; n > 1 && i-- > 0; c >>= 6)
		bytes[i] = (uint8_t)(i > 0 ? 0x80 | (c & 0x3f) : heads[n] | c);
	memcpy(to + *at, bytes, n);
	*at += n;
	return true;
}

static uint32_t character_at(const uint8_t *text, size_t i, unsigned int kind)
{
	uint16_t two;
	uint32_t four;

	if (kind == 1)
		return text[i];
	if (kind == 2) {
		memcpy(&two, text + 2 * i, sizeof(two));
		return two;
	}
	memcpy(&four, text + 4 * i, sizeof(four));
	return four <= 0x10ffff ? four : '?';
}

/* Reads a string, cut to the room for it. */
static int read_string(const struct reader *r, uint64_t address, char ret[RUNTIME_NAME_SIZE])
{
	const struct dp_python_names *l = &r->image->names;
	uint8_t text[4 * RUNTIME_NAME_SIZE];
	unsigned int kind;
	uint64_t n;
	uint32_t state;
	size_t at = 0;
	int err = read_at(r, address + l->string_size, &n, sizeof(n));

	if (err == 0)
		err = read_at(r, address + l->string_state, &state, sizeof(state));
	if (err < 0)
		return err;
	state >>= l->string_kind & 31;
	kind = STRING_KIND(state);
	if ((kind != 1 && kind != 2 && kind != 4) || !STRING_IS_COMPACT(state))
		return -ESTALE;
	n = n < RUNTIME_NAME_SIZE ? n : RUNTIME_NAME_SIZE;
	err = read_at(r, address + (STRING_IS_ASCII(state) ? l->string_ascii : l->string_text),
		      text, n * kind);
	if (err < 0)
		return err;
	for (size_t i = 0; i < n && put_character(ret, &at, character_at(text, i, kind)); i++)
		;
	ret[at] = '\0';
	return 0;
}

/* Reads the string that a member of the code object refers to. */
static int read_member(const struct reader *r, uint64_t code, uint32_t member,
		       char ret[RUNTIME_NAME_SIZE])
{
	uint64_t string;
	int err = read_at(r, code + member, &string, sizeof(string));

	return err < 0 ? err : read_string(r, string, ret);
}

/* Whether the code object is still that of the sample. */
static int check(const struct reader *r, const struct dp_runtime_frame *frame, uint32_t *ret_line)
{
	const struct dp_python *l = &r->image->python;
	uint64_t name, hash;
	int err = read_at(r, frame->code + l->name, &name, sizeof(name));

	if (err == 0)
		err = read_at(r, frame->code + l->line, ret_line, sizeof(*ret_line));
	if (err == 0)
		err = read_at(r, name + l->hash, &hash, sizeof(hash));
	if (err == 0 && python_tag(hash, *ret_line) != frame->tag)
		err = -ESTALE;
	return err;
}

/* In bytes of instructions from the first one on. */
static int64_t offset_of(const struct dp_runtime_image *image, const struct dp_runtime_frame *frame)
{
	uint64_t position = frame->position & ~DP_RUNTIME_ENTRY;

	if (image->python.position_size == sizeof(uint64_t))
		return (int64_t)(position - frame->code - image->names.instructions);
	/* 3.10 counts instructions. */
	return (int64_t)(int32_t)position * (image->names.version == 0x30a ? 2 : 1);
}

/* Where the code object's line table is. 0 or a negative errno. */
static int find_lines(const struct reader *r, uint64_t code, uint64_t *ret_address,
		      uint64_t *ret_size)
{
	const struct dp_python_names *l = &r->image->names;
	uint64_t object;
	int err = read_at(r, code + l->lines, &object, sizeof(object));

	if (err < 0)
		return err;
	*ret_address = object + l->bytes;
	return read_at(r, object + l->bytes_size, ret_size, sizeof(*ret_size));
}

/* How much of a text fits into so many bytes: whole characters. */
static int cut_size(const char *text, size_t size)
{
	size_t n = strlen(text);

	if (n <= size)
		return (int)n;
	while (size > 0 && ((uint8_t)text[size] & 0xc0) == 0x80)
		size--;
	return (int)size;
}

/* A task of asyncio: its name. */
static int read_task(const struct reader *r, const struct dp_runtime_frame *frame,
		     struct runtime_code **ret)
{
	_cleanup_free_ struct runtime_code *code = calloc(1, sizeof(*code));
	char name[RUNTIME_NAME_SIZE];
	uint64_t hash = 0;
	int err = code ? 0 : -ENOMEM;

	if (err == 0 && frame->position & PYTHON_TASK_NUMBER) {
		snprintf(name, sizeof(name), "Task-%llu", frame->code);
	} else if (err == 0) {
		err = read_at(r, frame->code + r->image->python.hash, &hash, sizeof(hash));
		if (err == 0 && hash != frame->tag)
			err = -ESTALE;
		if (err == 0)
			err = read_string(r, frame->code, name);
	}
	if (err < 0)
		return err;
	snprintf(code->function, sizeof(code->function), "[task %.*s]",
		 cut_size(name, sizeof(name) - sizeof("[task ]")), name);
	*ret = steal_ptr(code);
	return 0;
}

int python_read_code(const void *layout, const struct dp_runtime_frame *frame,
		     const struct runtime_memory *memory, struct runtime_code **ret)
{
	const struct dp_runtime_image *image = layout;
	const struct reader r = { memory, image };
	const struct dp_python_names *l = &image->names;
	_cleanup_free_ struct runtime_code *code = NULL;
	uint64_t lines = 0, size = 0;
	uint32_t first;
	int err;

	if (frame->position & PYTHON_TASK)
		return read_task(&r, frame, ret);
	err = check(&r, frame, &first);
	if (err == 0)
		err = find_lines(&r, frame->code, &lines, &size);
	if (err < 0)
		return err;
	size = size <= PYTHON_MAX_LINES ? size : 0;
	code = calloc(1, sizeof(*code) + size);
	if (!code)
		return -ENOMEM;
	code->first_line = first;
	code->lines_size = size;
	err = read_at(&r, lines, code->lines, size);
	if (err == 0)
		err = read_member(&r, frame->code, l->qualname ? l->qualname : image->python.name,
				  code->function);
	if (err == 0)
		err = read_member(&r, frame->code, l->filename, code->file);
	if (err == 0)
		*ret = steal_ptr(code);
	return err;
}

unsigned int python_code_line(const void *layout, const struct runtime_code *code,
			      const struct dp_runtime_frame *frame)
{
	const struct dp_runtime_image *image = layout;
	/* Without its table, it is where it begins. */
	int64_t offset = code->lines_size > 0 ? offset_of(image, frame) : -1;

	return python_line(image->names.version, code->lines, code->lines_size,
			   (int)code->first_line, offset);
}
