// SPDX-License-Identifier: Apache-2.0
/* PHP's functions (zend_function), from the memory of their process. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
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

/* Puts the name of the class, if it has one, in front of that of the function. */
static void put_name(const char *class_name, const char *name, char ret[RUNTIME_NAME_SIZE])
{
	int n = 0;

	if (class_name[0])
		n = snprintf(ret, RUNTIME_NAME_SIZE, "%.*s::", RUNTIME_NAME_SIZE / 2, class_name);
	memccpy(ret + n, name[0] ? name : MAIN, '\0', (size_t)(RUNTIME_NAME_SIZE - n));
	ret[RUNTIME_NAME_SIZE - 1] = '\0';
}

/*
 * Its name, with that of its class if the frame's tag tells that from others. It is read in any case: what
 * is read is mapped from then on, and the kernel can read it, too.
 */
static int read_name(const struct reader *r, uint64_t function, bool has_class,
		     char ret[RUNTIME_NAME_SIZE])
{
	char name[RUNTIME_NAME_SIZE], class_name[RUNTIME_NAME_SIZE] = "";
	uint64_t scope = 0;
	int err = read_string(r, function + r->names->function, name), class_err = 0;

	if (err == 0 && name[0])
		class_err = memory_word(r->memory, function + r->names->scope, &scope);
	if (class_err == 0 && scope != 0)
		class_err = read_string(r, scope + r->names->class_name, class_name);
	if (err == 0 && has_class)
		err = class_err;
	if (err == 0)
		put_name(has_class ? class_name : "", name, ret);
	return err;
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

/* zend_inline_hash_func(), Zend/zend_string.h, where a word has 64 bits. */
static uint64_t hash_of(const char *text, size_t n)
{
	uint64_t hash = 5381;

	for (size_t i = 0; i < n; i++)
		hash = hash * 33 + (unsigned char)text[i];
	return hash | UINT64_C(1) << 63;
}

/*
 * Another string in its place has a hash of 0 before its text is there (zend_string_alloc(),
 * Zend/zend_string.h). What else is there may have left the hash as it was: the text has to have it.
 */
static int read_text_and_hash(const struct reader *r, const struct dp_chain *chain, uint64_t string,
			      char ret[RUNTIME_NAME_SIZE], uint64_t *ret_hash)
{
	uint64_t size = 0;
	int err = read_text(r, string, ret);

	memory_forget(r->memory);
	if (err == 0)
		err = memory_word(r->memory, string + chain->hash, ret_hash);
	if (err == 0)
		err = memory_word(r->memory, string + r->names->string_size, &size);
	if (err == 0 && *ret_hash != 0 && size < RUNTIME_NAME_SIZE &&
	    hash_of(ret, size) != *ret_hash)
		err = -ESTALE;
	return err;
}

/*
 * Reads a text that may change, as far as the kernel does, and makes the hash of just that. -ESTALE: it is
 * longer, and `is_whole` asks for all of it.
 */
static int read_text_to_hash(const struct reader *r, uint64_t string, bool is_whole,
			     char ret[RUNTIME_NAME_SIZE], uint64_t *ret_hash)
{
	uint64_t words[DP_CHAIN_TEXT_WORDS] = { 0 }, size;
	int err = memory_word(r->memory, string + r->names->string_size, &size);

	if (err == 0 && is_whole && size > DP_CHAIN_TEXT_SIZE)
		err = -ESTALE;
	if (err == 0)
		err = memory_read(r->memory, string + r->names->string_text, words,
				  size < DP_CHAIN_TEXT_SIZE ? size : DP_CHAIN_TEXT_SIZE);
	if (err < 0)
		return err;
	*ret_hash = size;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		*ret_hash = chain_hash(*ret_hash, words[i]);
	memcpy(ret, words, sizeof(words));
	return 0;
}

/* A part of its name might be that of another file. */
static int read_file(const struct reader *r, const struct dp_chain *chain,
		     const struct dp_runtime_frame *frame, uint64_t string,
		     char ret[RUNTIME_NAME_SIZE], uint64_t *ret_hash)
{
	return frame->code & DP_CHAIN_TEXT ? read_text_to_hash(r, string, true, ret, ret_hash) :
					     read_text_and_hash(r, chain, string, ret, ret_hash);
}

/*
 * What a script has outside of functions is gone with the request, and what eval() executes as soon as
 * it has, but the name of its file is not with opcache, or for as long: the frame has that, and its line.
 */
static int read_script(const struct reader *r, const struct dp_chain *chain,
		       const struct dp_runtime_frame *frame, struct runtime_code *code)
{
	uint64_t hash;
	int err = read_file(r, chain, frame, frame->code & ~DP_CHAIN_MARKS, code->file, &hash);

	if (err == 0 && hash != frame->tag)
		err = -ESTALE;
	memcpy(code->function, MAIN, sizeof(MAIN));
	code->first_line = (uint32_t)frame->position;
	return err;
}

/* The name of a class, or "", and its hash, or 0. */
static int read_class_to_hash(const struct reader *r, uint64_t scope, char ret[RUNTIME_NAME_SIZE],
			      uint64_t *ret_hash)
{
	uint64_t string;
	int err;

	ret[0] = '\0';
	*ret_hash = 0;
	if (scope == 0)
		return 0;
	err = memory_word(r->memory, scope + r->names->class_name, &string);
	return err < 0 ? err : read_text_to_hash(r, string, false, ret, ret_hash);
}

/* The name of a function that may be another one soon, and its tag without its file. */
static int read_shown(const struct reader *r, uint64_t function, char ret[RUNTIME_NAME_SIZE],
		      uint64_t *ret_tag)
{
	char name[RUNTIME_NAME_SIZE] = "", class_name[RUNTIME_NAME_SIZE];
	uint64_t string, scope, hash = 0, class_hash = 0;
	int err = memory_word(r->memory, function + r->names->function, &string);

	if (err == 0)
		err = memory_word(r->memory, function + r->names->scope, &scope);
	if (err == 0)
		err = read_text_to_hash(r, string, false, name, &hash);
	if (err == 0)
		err = read_class_to_hash(r, scope, class_name, &class_hash);
	if (err < 0)
		return err;
	*ret_tag = chain_tag(hash, class_hash);
	put_name(class_name, name, ret);
	return 0;
}

/*
 * A closure is freed like any object, and a method that a class has by a trait with the request, while the
 * trait's instructions and names stay. The frame has its line, and in its tag what it shows.
 */
static int read_fleeting(const struct reader *r, const struct dp_chain *chain,
			 const struct dp_runtime_frame *frame, struct runtime_code *code)
{
	uint64_t function = frame->code & ~DP_CHAIN_MARKS, string, tag, hash;
	int err = read_shown(r, function, code->function, &tag);

	if (err == 0)
		err = memory_word(r->memory, function + r->names->file, &string);
	if (err == 0)
		err = read_file(r, chain, frame, string, code->file, &hash);
	if (err == 0 && chain_tag(hash, tag) != frame->tag)
		err = -ESTALE;
	code->first_line = (uint32_t)frame->position;
	return err;
}

/*
 * Also a closure or a trait's method of which the kernel could not read what is shown: those of several
 * classes may have the same name and instructions.
 */
static int read_function(const struct reader *r, const struct dp_chain *chain,
			 const struct dp_runtime_frame *frame, struct runtime_code *code)
{
	uint64_t type = 0;
	int err = memory_check_tag(r->memory, chain, frame);
	bool is_native, is_fleeting;

	if (err == 0)
		err = memory_word(r->memory, frame->code, &type);
	is_native = (uint8_t)type == chain->native;
	is_fleeting = !is_native && (type >> 32 & chain->fleeting) != 0;
	if (err == 0)
		err = read_name(r, frame->code, !is_fleeting, code->function);
	if (err == 0 && !is_native)
		err = read_string(r, frame->code + r->names->file, code->file);
	if (err == 0 && !is_native)
		err = read_line(r, frame->code, frame->position & ~DP_RUNTIME_ENTRY,
				&code->first_line);
	memory_forget(r->memory);
	/* Until here it may have become another one's. */
	return err < 0 ? err : memory_check_tag(r->memory, chain, frame);
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
	else if (frame->code & DP_CHAIN_LINE)
		err = read_fleeting(&r, &image->chain, frame, code);
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
