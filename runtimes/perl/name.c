// SPDX-License-Identifier: Apache-2.0
/*
 * The names of Perl's functions, and the lines of their statements, from the memory of their process
 * (enum dp_perl_code). Both may be gone, each for itself: a name without a line is still right.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtimes/memory.h"
#include "runtimes/perl/perl.h"

/* What Perl calls those without a name: caller(). A package may have lost its own. */
static const char *const fixed_names[DP_N_PERL_CODES] = {
	[DP_PERL_EVAL] = "(eval)",
	[DP_PERL_MAIN] = "<main>",
	[DP_PERL_NAMELESS] = "(unknown)",
};
#define NO_PACKAGE "__ANON__"

/* In builds without threads, a statement has the variable that is called so, and then as the file. */
#define FILE_PREFIX "_<"

struct reader {
	const struct runtime_memory *memory;
	const struct dp_perl *layout;
	const struct dp_perl_names *names;
	const struct dp_runtime_frame *frame;
};

/* What a frame has: of its function, the HEK of the name, and the package; or 0. */
struct name {
	uint64_t hek, package;
};

/* Turns Latin-1 into UTF-8. */
static void widen(char text[RUNTIME_NAME_SIZE])
{
	char narrow[RUNTIME_NAME_SIZE];
	size_t n = 0;

	memcpy(narrow, text, sizeof(narrow));
	for (const char *c = narrow; *c && n < RUNTIME_NAME_SIZE - 2; c++) {
		unsigned int byte = (uint8_t)*c;

		if (byte >= 0x80)
			text[n++] = (char)(0xc0 | byte >> 6);
		text[n++] = (char)(byte >= 0x80 ? 0x80 | (byte & 0x3f) : byte);
	}
	text[n] = '\0';
}

/* Reads the text of a HEK; "" for NULL. */
static int read_hek(const struct reader *r, uint64_t hek, char ret[RUNTIME_NAME_SIZE])
{
	uint64_t text = hek + r->names->text;
	uint32_t size;
	uint8_t flags;
	int err;

	ret[0] = '\0';
	if (hek == 0)
		return 0;
	err = memory_half(r->memory, hek + r->names->size, &size);
	if (err == 0 && (int32_t)size < 0)
		err = -ESTALE;
	if (err == 0)
		err = memory_text(r->memory, text, size, ret);
	if (err == 0)
		err = memory_read(r->memory, text + size + 1, &flags, sizeof(flags));
	if (err == 0 && !(flags & r->names->is_utf8))
		widen(ret);
	return err;
}

/* The name of a package. */
static int read_package(const struct reader *r, uint64_t package, char ret[RUNTIME_NAME_SIZE])
{
	uint64_t body, name;
	uint32_t n;
	int err;

	ret[0] = '\0';
	if (package == 0)
		return 0;
	err = memory_word(r->memory, package, &body);
	if (err == 0)
		err = memory_word(r->memory, body + r->names->package_name, &name);
	if (err == 0)
		err = memory_half(r->memory, body + r->names->package_names, &n);
	/* The first of several is the one that it was given. */
	if (err == 0 && n != 0 && name != 0)
		err = memory_word(r->memory, name, &name);
	return err < 0 ? err : read_hek(r, name, ret);
}

/* What a variable (GV) is called. */
static int find_gv(const struct reader *r, uint64_t gv, struct name *ret)
{
	uint64_t body;
	int err = memory_word(r->memory, gv, &body);

	if (err == 0)
		err = memory_word(r->memory, body + r->layout->gv_name, &ret->hek);
	return err < 0 ? err : memory_word(r->memory, body + r->layout->gv_package, &ret->package);
}

/* What a function (CV) is called, which may have got a variable for its name meanwhile. */
static int find_cv(const struct reader *r, uint64_t cv, struct name *ret)
{
	uint64_t body, name;
	uint32_t flags;
	int err = memory_word(r->memory, cv, &body);

	if (err == 0)
		err = memory_half(r->memory, body + r->layout->flags, &flags);
	if (err == 0)
		err = memory_word(r->memory, body + r->layout->name, &name);
	if (err < 0)
		return err;
	if (!(flags & r->layout->is_named))
		return find_gv(r, name, ret);
	ret->hek = name;
	return memory_word(r->memory, body + r->layout->package, &ret->package);
}

/* Finds the frame's name. -ESTALE: it is another one now. */
static int find_name(const struct reader *r, struct name *ret)
{
	uint64_t at = r->frame->code & ~DP_PERL_CODES, word;
	uint32_t check = 0;
	int err;

	*ret = (struct name){ 0 };
	switch (r->frame->code & DP_PERL_CODES) {
	case DP_PERL_GV:
		err = find_gv(r, at, ret);
		check = perl_check(ret->hek, ret->package);
		break;
	case DP_PERL_CV:
		err = find_cv(r, at, ret);
		check = perl_check(ret->hek, ret->package);
		break;
	case DP_PERL_HEK:
		ret->hek = at;
		err = memory_word(r->memory, at, &word);
		if (err == 0)
			check = perl_check(word, 0);
		break;
	default:
		return -ESTALE;
	}
	return err == 0 && check != r->frame->tag >> 32 ? -ESTALE : err;
}

static int read_name(const struct reader *r, char ret[RUNTIME_NAME_SIZE])
{
	const char *fixed = fixed_names[(r->frame->code & DP_PERL_CODES) % DP_N_PERL_CODES];
	char name[RUNTIME_NAME_SIZE], package[RUNTIME_NAME_SIZE];
	bool is_qualified = (r->frame->code & DP_PERL_CODES) != DP_PERL_HEK;
	struct name found, again;
	int n = 0, err;

	if (fixed) {
		snprintf(ret, RUNTIME_NAME_SIZE, "%s", fixed);
		return 0;
	}
	err = find_name(r, &found);
	if (err == 0)
		err = read_hek(r, found.hek, name);
	if (err == 0)
		err = read_package(r, found.package, package);
	memory_forget(r->memory);
	if (err == 0)
		err = find_name(r, &again);
	if (err < 0)
		return err;
	if (is_qualified)
		n = snprintf(ret, RUNTIME_NAME_SIZE, "%.*s::", RUNTIME_NAME_SIZE / 2,
			     package[0] ? package : NO_PACKAGE);
	memccpy(ret + n, name, '\0', (size_t)(RUNTIME_NAME_SIZE - n));
	ret[RUNTIME_NAME_SIZE - 1] = '\0';
	return 0;
}

/* Reads a text that a NUL ends, which may be right in front of memory that is not there. */
static int read_text(const struct reader *r, uint64_t address, char ret[RUNTIME_NAME_SIZE])
{
	size_t n = 0;
	int err = 0;

	ret[0] = '\0';
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

/* The line of the frame's statement, and what has its file. -ESTALE: there is another one now. */
static int find_place(const struct reader *r, uint32_t *ret_line, uint64_t *ret_file)
{
	uint64_t statement = DP_PERL_STATEMENT(r->frame->position & ~DP_RUNTIME_ENTRY);
	uint32_t sequence;
	int err;

	if (statement == 0)
		return -ESTALE;
	err = memory_half(r->memory, statement + r->layout->line, ret_line);
	if (err == 0)
		err = memory_half(r->memory, statement + r->layout->sequence, &sequence);
	if (err == 0)
		err = memory_word(r->memory, statement + r->layout->file, ret_file);
	if (err == 0 &&
	    perl_check((uint64_t)*ret_line << 32 | sequence, *ret_file) != (uint32_t)r->frame->tag)
		err = -ESTALE;
	return err;
}

static int read_file(const struct reader *r, uint64_t file, char ret[RUNTIME_NAME_SIZE])
{
	struct name name;
	int err;

	if (file == 0)
		return -ESTALE;
	if (r->layout->is_threaded)
		return read_text(r, file, ret);
	err = find_gv(r, file, &name);
	if (err == 0)
		err = read_hek(r, name.hek, ret);
	if (err == 0 && strncmp(ret, FILE_PREFIX, strlen(FILE_PREFIX)) == 0)
		memmove(ret, ret + strlen(FILE_PREFIX), strlen(ret + strlen(FILE_PREFIX)) + 1);
	return err;
}

/* Reads where the frame is; nothing if that is gone. An error only of memory that may be there later. */
static int read_place(const struct reader *r, struct runtime_code *ret)
{
	uint32_t line = 0, line_again;
	uint64_t file = 0, file_again;
	int err = find_place(r, &line, &file);

	if (err == 0)
		err = read_file(r, file, ret->file);
	memory_forget(r->memory);
	if (err == 0)
		err = find_place(r, &line_again, &file_again);
	if (err == 0)
		ret->first_line = line;
	else
		ret->file[0] = '\0';
	return err == -ETIMEDOUT || err == -EAGAIN ? err : 0;
}

int perl_read_code(const void *layout, const struct dp_runtime_frame *frame,
		   const struct runtime_memory *memory, struct runtime_code **ret)
{
	const struct dp_runtime_image *image = layout;
	const struct reader r = { memory, &image->perl, &image->perl_names, frame };
	_cleanup_free_ struct runtime_code *code = calloc(1, sizeof(*code));
	int err;

	if (!code)
		return -ENOMEM;
	err = read_name(&r, code->function);
	if (err == 0)
		err = read_place(&r, code);
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
