// SPDX-License-Identifier: Apache-2.0
/* PHP's functions (zend_function), from the memory of their process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtimes/memory.h"
#include "runtimes/php/php.h"

/* What a script has outside of functions. */
#define MAIN "<main>"

struct reader {
	const struct runtime_memory *memory;
	const struct dp_php_names *names;
};

static int read_text(const struct reader *r, uint64_t string, char ret[RUNTIME_NAME_SIZE])
{
	uint64_t size;
	int err = memory_word(r->memory, string + r->names->string_size, &size);

	return err < 0 ? err : memory_text(r->memory, string + r->names->string_text, size, ret);
}

/* Reads the string that a pointer at an address leads to; "" for NULL. */
static int read_string(const struct reader *r, uint64_t address, char ret[RUNTIME_NAME_SIZE])
{
	uint64_t string;
	int err = memory_word(r->memory, address, &string);

	ret[0] = '\0';
	return err < 0 || string == 0 ? err : read_text(r, string, ret);
}

/* Its name, with that of its class. */
static int read_name(const struct reader *r, uint64_t function, char ret[RUNTIME_NAME_SIZE])
{
	char name[RUNTIME_NAME_SIZE], class_name[RUNTIME_NAME_SIZE] = "";
	uint64_t scope = 0;
	int n = 0, err = read_string(r, function + r->names->function, name);

	if (err == 0 && name[0])
		err = memory_word(r->memory, function + r->names->scope, &scope);
	if (err == 0 && scope)
		err = read_string(r, scope + r->names->class_name, class_name);
	if (err < 0)
		return err;
	if (class_name[0])
		n = snprintf(ret, RUNTIME_NAME_SIZE, "%.*s::", RUNTIME_NAME_SIZE / 2, class_name);
	memccpy(ret + n, name[0] ? name : MAIN, '\0', (size_t)(RUNTIME_NAME_SIZE - n));
	ret[RUNTIME_NAME_SIZE - 1] = '\0';
	return 0;
}

/*
 * The line of an instruction of a function; of one that has just begun, and has not stored its position
 * yet, its first one.
 */
static int read_line(const struct reader *r, uint64_t function, uint64_t position, uint32_t *ret)
{
	const struct dp_php_names *l = r->names;
	uint64_t instructions;
	uint32_t n;
	int err = memory_word(r->memory, function + l->instructions, &instructions);

	if (err == 0)
		err = memory_half(r->memory, function + l->n_instructions, &n);
	if (err < 0)
		return err;
	/* A file's layout may have been forged. */
	if (l->instruction_size == 0)
		return -ENOTSUP;
	position -= instructions;
	if (position / l->instruction_size >= n || position % l->instruction_size != 0)
		return memory_half(r->memory, function + l->first_line, ret);
	return memory_half(r->memory, instructions + position + l->line, ret);
}

/*
 * What a script has outside of functions is gone with the request, but the name of its file is not
 * with opcache, or for as long: the frame has that, and its line. Another string in its place has a
 * hash of 0 before its text is there (zend_string_alloc(), Zend/zend_string.h).
 */
static int read_script(const struct reader *r, const struct dp_chain *chain,
		       const struct dp_runtime_frame *frame, struct runtime_code *code)
{
	uint64_t string = frame->code & ~DP_CHAIN_FILE, hash;
	int err = read_text(r, string, code->file);

	/* Pages are kept: that of the hash may have been read before the text. */
	if (r->memory->forget)
		r->memory->forget(r->memory->arg);
	if (err == 0)
		err = memory_word(r->memory, string + chain->hash, &hash);
	if (err == 0 && hash != frame->tag)
		err = -ESTALE;
	memcpy(code->function, MAIN, sizeof(MAIN));
	code->first_line = (uint32_t)frame->position;
	return err;
}

static int read_function(const struct reader *r, const struct dp_chain *chain,
			 const struct dp_runtime_frame *frame, struct runtime_code *code)
{
	uint8_t type;
	int err = memory_check_tag(r->memory, chain, frame);

	if (err == 0)
		err = memory_read(r->memory, frame->code, &type, sizeof(type));
	if (err == 0)
		err = read_name(r, frame->code, code->function);
	if (err == 0 && type != chain->native)
		err = read_string(r, frame->code + r->names->file, code->file);
	if (err == 0 && type != chain->native)
		err = read_line(r, frame->code, frame->position & ~DP_RUNTIME_ENTRY,
				&code->first_line);
	return err;
}

int php_read_code(const void *layout, const struct dp_runtime_frame *frame,
		  const struct runtime_memory *memory, struct runtime_code **ret)
{
	const struct dp_runtime_image *image = layout;
	const struct reader r = { memory, &image->php };
	_cleanup_free_ struct runtime_code *code = calloc(1, sizeof(*code));
	int err;

	if (!code)
		return -ENOMEM;
	if (frame->code & DP_CHAIN_FILE)
		err = read_script(&r, &image->chain, frame, code);
	else
		err = read_function(&r, &image->chain, frame, code);
	if (err == 0)
		*ret = steal_ptr(code);
	return err;
}

/* It was read for this position alone. */
unsigned int php_code_line(const void *layout, const struct runtime_code *code,
			   const struct dp_runtime_frame *frame)
{
	return code->first_line;
}
