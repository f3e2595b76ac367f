// SPDX-License-Identifier: Apache-2.0
/* Perl's functions (CV) and statements (COP), from the memory of their process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtimes/memory.h"
#include "runtimes/perl/perl.h"

/* What a script has outside of functions: it is a CV without a name. */
#define MAIN "<main>"

struct reader {
	const struct runtime_memory *memory;
	const struct dp_perl_names *names;
};

/* Reads the text of a HEK; "" for NULL. */
static int read_hek(const struct reader *r, uint64_t hek, char ret[RUNTIME_NAME_SIZE])
{
	uint32_t size;
	int err;

	ret[0] = '\0';
	if (hek == 0)
		return 0;
	err = memory_half(r->memory, hek + r->names->text - sizeof(size), &size);
	return err < 0 ? err : memory_text(r->memory, hek + r->names->text, size, ret);
}

/* The name of a package. */
static int read_stash(const struct reader *r, uint64_t stash, char ret[RUNTIME_NAME_SIZE])
{
	uint64_t body, name;
	uint32_t n;
	int err;

	ret[0] = '\0';
	if (stash == 0)
		return 0;
	err = memory_word(r->memory, stash, &body);
	if (err == 0)
		err = memory_word(r->memory, body + r->names->stash_name, &name);
	if (err == 0)
		err = memory_half(r->memory, body + r->names->stash_names, &n);
	/* Of several names, the second one counts if their number is negative. */
	if (err == 0 && n != 0)
		err = memory_word(r->memory, name + ((int32_t)n < 0 ? sizeof(name) : 0), &name);
	return err < 0 ? err : read_hek(r, name, ret);
}

/* The HEK of a function's name, and the stash that it is in. */
static int find_name(const struct reader *r, uint64_t function, uint64_t *ret_name,
		     uint64_t *ret_stash)
{
	const struct dp_perl_names *l = r->names;
	uint64_t body;
	uint32_t flags;
	int err = memory_word(r->memory, function, &body);

	*ret_stash = 0;
	if (err == 0)
		err = memory_half(r->memory, body + l->cv_flags, &flags);
	if (err == 0)
		err = memory_word(r->memory, body + l->name, ret_name);
	if (err < 0 || *ret_name == 0)
		return err;
	if (flags & l->is_named)
		return memory_word(r->memory, body + l->cv_stash, ret_stash);
	err = memory_word(r->memory, *ret_name, &body);
	if (err == 0)
		err = memory_word(r->memory, body + l->gv_name, ret_name);
	return err < 0 ? err : memory_word(r->memory, body + l->gv_stash, ret_stash);
}

static int read_name(const struct reader *r, uint64_t function, char ret[RUNTIME_NAME_SIZE])
{
	char name[RUNTIME_NAME_SIZE], package[RUNTIME_NAME_SIZE];
	uint64_t hek, stash;
	int n = 0, err = find_name(r, function, &hek, &stash);

	if (err == 0)
		err = read_hek(r, hek, name);
	if (err == 0)
		err = read_stash(r, stash, package);
	if (err < 0)
		return err;
	if (name[0] && package[0])
		n = snprintf(ret, RUNTIME_NAME_SIZE, "%.*s::", RUNTIME_NAME_SIZE / 2, package);
	memccpy(ret + n, name[0] ? name : MAIN, '\0', (size_t)(RUNTIME_NAME_SIZE - n));
	ret[RUNTIME_NAME_SIZE - 1] = '\0';
	return 0;
}

/* Reads a text that a NUL ends. */
static int read_text(const struct reader *r, uint64_t address, char ret[RUNTIME_NAME_SIZE])
{
	size_t n = 0;
	int err = 0;

	/* It may end right in front of memory that is not there. */
	while (n < RUNTIME_NAME_SIZE - 1) {
		size_t left = DP_USER_PAGE_SIZE - (address + n) % DP_USER_PAGE_SIZE;
		size_t part = left < RUNTIME_NAME_SIZE - 1 - n ? left : RUNTIME_NAME_SIZE - 1 - n;

		err = memory_read(r->memory, address + n, ret + n, part);
		if (err < 0 || memchr(ret + n, '\0', part))
			break;
		n += part;
	}
	ret[RUNTIME_NAME_SIZE - 1] = '\0';
	return err;
}

int perl_read_code(const void *layout, const struct dp_runtime_frame *frame,
		   const struct runtime_memory *memory, struct runtime_code **ret)
{
	const struct dp_runtime_image *image = layout;
	const struct reader r = { memory, &image->perl };
	uint64_t statement = frame->position & ~DP_RUNTIME_ENTRY, file;
	_cleanup_free_ struct runtime_code *code = calloc(1, sizeof(*code));
	int err;

	if (!code)
		return -ENOMEM;
	err = memory_check_tag(memory, &image->chain, frame);
	if (err == 0)
		err = read_name(&r, frame->code, code->function);
	if (err == 0)
		err = memory_half(memory, statement + r.names->line, &code->first_line);
	if (err == 0)
		err = memory_word(memory, statement + r.names->file, &file);
	if (err == 0 && file != 0)
		err = read_text(&r, file, code->file);
	if (err == 0)
		*ret = steal_ptr(code);
	return err;
}

/* It was read for this position alone. */
unsigned int perl_code_line(const void *layout, const struct runtime_code *code,
			    const struct dp_runtime_frame *frame)
{
	return code->first_line;
}
