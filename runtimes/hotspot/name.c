// SPDX-License-Identifier: Apache-2.0
/* Names of a JVM's code, from its memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtimes/hotspot/layout.h"
#include "runtimes/hotspot/scope.h"
#include "runtimes/memory.h"
#include "runtimes/runtime.h"

/* Names of blobs are short. */
#define BLOB_NAME_SIZE 128
/* In a position, which has no such bit: it is a safepoint's, near the place that was asked for. */
#define NEAR (1ULL << 60)
/* What HotSpot calls the blobs of methods. */
static const char method_blob[] = "nmethod", native_blob[] = "native nmethod";

struct reader {
	const struct hotspot_layout *layout;
	const struct runtime_memory *memory;
};

static int read_at(const struct reader *r, uint64_t address, void *ret, size_t size)
{
	return r->memory->read(r->memory->arg, ret, size, address);
}

static int read_member(const struct reader *r, uint64_t object, enum hotspot_member member,
		       uint64_t *ret)
{
	return read_at(r, object + r->layout->at[member], ret, sizeof(*ret));
}

/* Reads a string of C, which may end right in front of memory that is not there. */
static int read_string(const struct reader *r, uint64_t address, char ret[BLOB_NAME_SIZE])
{
	size_t n = 0;
	int err = 0;

	while (n < BLOB_NAME_SIZE - 1) {
		err = read_at(r, address + n, ret + n, 1);
		if (err < 0 || ret[n] == '\0')
			break;
		n++;
	}
	ret[n] = '\0';
	return err;
}

/* Appends a symbol to a name, which is cut. Names of classes have slashes. */
static int append_symbol(const struct reader *r, uint64_t symbol, char name[RUNTIME_NAME_SIZE])
{
	size_t at = strlen(name), room = RUNTIME_NAME_SIZE - 1 - at;
	uint16_t length;
	int err =
		read_at(r, symbol + r->layout->at[HOTSPOT_SYMBOL_LENGTH], &length, sizeof(length));

	if (err < 0)
		return err;
	if (length == 0)
		return -ESTALE;
	if (length < room)
		room = length;
	err = read_at(r, symbol + r->layout->at[HOTSPOT_SYMBOL_BODY], name + at, room);
	if (err < 0)
		return err;
	name[at + room] = '\0';
	if (strlen(name) != at + room)
		return -ESTALE;
	return 0;
}

/* Turns the name of a class into what the language writes. */
static void make_readable(char *class)
{
	/* A hidden class's: "Name+0x00007f0010001800" or "Name/0x...", by its address. */
	char *suffix = strstr(class, "+0x");

	if (!suffix)
		suffix = strstr(class, "/0x");
	if (suffix)
		*suffix = '\0';
	for (; *class; class ++)
		if (*class == '/')
			*class = '.';
}

/* Reads a name of the constant pool, and appends it. */
static int append_pooled(const struct reader *r, uint64_t pool, uint16_t index,
			 char name[RUNTIME_NAME_SIZE])
{
	uint32_t length = 0;
	uint64_t symbol;
	int err = read_at(r, pool + r->layout->at[HOTSPOT_POOL_LENGTH], &length, sizeof(length));

	if (err == 0 && (index == 0 || index >= length))
		err = -ESTALE;
	if (err == 0)
		err = read_at(r, pool + r->layout->pool_size + index * sizeof(symbol), &symbol,
			      sizeof(symbol));
	return err < 0 ? err : append_symbol(r, symbol, name);
}

/* Reads "package.Class.method" of a ConstMethod. */
static int read_method(const struct reader *r, uint64_t constant, char ret[RUNTIME_NAME_SIZE])
{
	const struct hotspot_layout *l = r->layout;
	uint64_t pool, class, symbol;
	uint16_t index = 0;
	int err = read_member(r, constant, HOTSPOT_CONST_CONSTANTS, &pool);

	if (err == 0)
		err = read_member(r, pool, HOTSPOT_POOL_HOLDER, &class);
	if (err == 0)
		err = read_member(r, class, HOTSPOT_KLASS_NAME, &symbol);
	if (err == 0)
		err = append_symbol(r, symbol, ret);
	if (err == 0)
		err = read_at(r, constant + l->at[HOTSPOT_CONST_NAME], &index, sizeof(index));
	if (err < 0)
		return err;
	if (strlen(ret) + 2 > RUNTIME_NAME_SIZE)
		return -ESTALE;
	make_readable(ret);
	strcat(ret, ".");
	return append_pooled(r, pool, index, ret);
}

/* Whether a method has a table of lines. */
static int read_flags(const struct reader *r, uint64_t constant, bool *ret_has_lines)
{
	bool is_apart = hotspot_layout_has(r->layout, HOTSPOT_CONST_FLAGS_APART);
	uint16_t flags;
	int err = read_at(
		r,
		constant +
			r->layout->at[is_apart ? HOTSPOT_CONST_FLAGS_APART : HOTSPOT_CONST_FLAGS],
		&flags, sizeof(flags));

	/* _has_linenumber_table and _misc_has_linenumber_table */
	*ret_has_lines = err == 0 && flags & 1;
	return err;
}

static bool knows_lines(const struct hotspot_layout *l)
{
	return l->const_size > 0 && hotspot_layout_has(l, HOTSPOT_CONST_SIZE) &&
	       (hotspot_layout_has(l, HOTSPOT_CONST_FLAGS) ||
		hotspot_layout_has(l, HOTSPOT_CONST_FLAGS_APART));
}

/* Reads a method's lines, which follow its bytecodes. 0: it has none; else their number. */
static int read_lines(const struct reader *r, uint64_t constant,
		      struct hotspot_line ret[HOTSPOT_MAX_LINES])
{
	const struct hotspot_layout *l = r->layout;
	struct hotspot_stream stream = { .read = r->memory->read, .memory = r->memory->arg };
	uint16_t code_size = 0;
	bool has_lines;
	size_t n = 0;
	int err = read_flags(r, constant, &has_lines);

	if (err == 0)
		err = read_at(r, constant + l->at[HOTSPOT_CONST_SIZE], &code_size,
			      sizeof(code_size));
	if (err < 0 || !has_lines)
		return err;
	stream.at = constant + l->const_size + code_size;
	stream.end = UINT64_MAX;
	/* The flags have a structure of their own since JDK 21, and numbers have no zeros since JDK 20. */
	stream.excluded = hotspot_layout_has(l, HOTSPOT_CONST_FLAGS_APART);
	err = hotspot_lines_read(&stream, code_size, ret, &n);
	if (err < 0 || n == 0)
		return err == -ESTALE ? 0 : err;
	/* Behind the bytecodes, which may be where a position of a sample is, are no lines. */
	ret[n++] = (struct hotspot_line){ .bci = code_size };
	return (int)n;
}

static int read_file(const struct reader *r, uint64_t constant, char ret[RUNTIME_NAME_SIZE])
{
	uint16_t index = 0;
	bool is_in_pool = hotspot_layout_has(r->layout, HOTSPOT_POOL_FILE);
	uint64_t pool, holder;
	int err;

	if (!is_in_pool && !hotspot_layout_has(r->layout, HOTSPOT_CLASS_FILE))
		return 0;
	err = read_member(r, constant, HOTSPOT_CONST_CONSTANTS, &pool);
	holder = pool;
	if (err == 0 && !is_in_pool)
		err = read_member(r, pool, HOTSPOT_POOL_HOLDER, &holder);
	if (err == 0)
		err = read_at(
			r,
			holder + r->layout->at[is_in_pool ? HOTSPOT_POOL_FILE : HOTSPOT_CLASS_FILE],
			&index, sizeof(index));
	/* Code that a program makes for itself need not have a file. */
	return err < 0 || index == 0 ? err : append_pooled(r, pool, index, ret);
}

/* Adds what gives lines to code, which may be moved. */
static int add_lines(const struct reader *r, uint64_t constant, struct runtime_code **code)
{
	_cleanup_free_ struct hotspot_line *lines = NULL;
	struct runtime_code *larger;
	size_t size;
	int n;

	if (!knows_lines(r->layout))
		return 0;
	lines = calloc(HOTSPOT_MAX_LINES, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	n = read_lines(r, constant, lines);
	if (n <= 0)
		return n;
	size = (size_t)n * sizeof(*lines);
	larger = realloc(*code, sizeof(**code) + size);
	if (!larger)
		return -ENOMEM;
	*code = larger;
	memcpy(larger->lines, lines, size);
	larger->lines_size = size;
	return 0;
}

/* What a ConstMethod tells of its method. A class may say nothing sensible of its file. */
static int read_shown(const struct reader *r, uint64_t constant, struct runtime_code *code)
{
	int err = read_method(r, constant, code->function);

	if (err < 0)
		return err;
	err = read_file(r, constant, code->file);
	if (err == -ESTALE) {
		code->file[0] = '\0';
		return 0;
	}
	return err;
}

/* -ESTALE: the method's constant part is not that of the sample. */
static int check_constant(const struct reader *r, const struct dp_runtime_frame *frame)
{
	uint64_t constant;
	int err = read_member(r, frame->code, HOTSPOT_METHOD_CONST, &constant);

	return err == 0 && constant != frame->tag ? -ESTALE : err;
}

static int read_interpreted(const struct reader *r, const struct dp_runtime_frame *frame,
			    struct runtime_code **code)
{
	int err = check_constant(r, frame);

	if (err == 0)
		err = read_shown(r, frame->tag, *code);
	if (err == 0)
		err = add_lines(r, frame->tag, code);
	memory_forget(r->memory);
	/* Until here it may have become another one's. */
	return err < 0 ? err : check_constant(r, frame);
}

/* -ESTALE: the blob is that of another method, or none of a method any more. */
static int check_id(const struct reader *r, const struct dp_runtime_frame *frame)
{
	uint32_t id;
	int err = read_at(r, frame->code + r->layout->at[HOTSPOT_NMETHOD_ID], &id, sizeof(id));

	return err == 0 && id != frame->tag ? -ESTALE : err;
}

static int read_blob_name(const struct reader *r, uint64_t blob, char ret[BLOB_NAME_SIZE])
{
	uint64_t name;
	int err = read_member(r, blob, HOTSPOT_BLOB_NAME, &name);

	return err < 0 ? err : read_string(r, name, ret);
}

static int read_compiled(const struct reader *r, const struct dp_runtime_frame *frame,
			 struct runtime_code *code)
{
	bool is_own = hotspot_layout_has(r->layout, HOTSPOT_NMETHOD_METHOD);
	char blob[BLOB_NAME_SIZE];
	uint64_t method, constant;
	int err = read_blob_name(r, frame->code, blob);

	if (err < 0)
		return err;
	if (strcmp(blob, method_blob) != 0 && strcmp(blob, native_blob) != 0) {
		snprintf(code->function, sizeof(code->function), "[%s]", blob);
		return blob[0] == '\0' ? -ESTALE : 0;
	}
	err = check_id(r, frame);
	if (err == 0)
		err = read_member(r, frame->code,
				  is_own ? HOTSPOT_NMETHOD_METHOD : HOTSPOT_COMPILED_METHOD,
				  &method);
	if (err == 0)
		err = read_member(r, method, HOTSPOT_METHOD_CONST, &constant);
	if (err == 0)
		err = read_shown(r, constant, code);
	memory_forget(r->memory);
	/* Until here it may have become another one's. */
	return err < 0 ? err : check_id(r, frame);
}

/* Where a blob's code begins, as an offset in the blob. */
static int read_code_begin(const struct reader *r, uint64_t blob, uint64_t *ret)
{
	uint32_t offset;
	int err;

	if (hotspot_layout_has(r->layout, HOTSPOT_BLOB_CODE_OFFSET)) {
		err = read_at(r, blob + r->layout->at[HOTSPOT_BLOB_CODE_OFFSET], &offset,
			      sizeof(offset));
		*ret = err == 0 ? offset : 0;
		return err;
	}
	err = read_member(r, blob, HOTSPOT_BLOB_CODE_BEGIN, ret);
	if (err == 0)
		*ret -= blob;
	return err;
}

/* Turns scopes into frames of their methods. */
static int put_scopes(const struct reader *r, const struct hotspot_scope *scopes, size_t n,
		      struct dp_runtime_frame *ret)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < n; i++) {
		uint64_t constant;

		err = read_member(r, scopes[i].method, HOTSPOT_METHOD_CONST, &constant);
		ret[i] = (struct dp_runtime_frame){
			.code = scopes[i].method,
			.position = DP_HOTSPOT_INTERPRETED | (uint32_t)(scopes[i].bci + 1) |
				    (scopes[i].is_near ? NEAR : 0),
			.tag = constant,
		};
	}
	return err < 0 ? err : (int)n;
}

static int expand(const void *layout, const struct dp_runtime_frame *frame,
		  const struct runtime_memory *memory, struct dp_runtime_frame *ret)
{
	const struct reader r = { layout, memory };
	struct hotspot_scope scopes[HOTSPOT_MAX_SCOPES];
	uint32_t position = (uint32_t)frame->position;
	char blob[BLOB_NAME_SIZE];
	uint64_t begin;
	size_t n;
	int err;

	if (frame->position & DP_HOTSPOT_INTERPRETED)
		return 0;
	err = read_blob_name(&r, frame->code, blob);
	if (err < 0 || strcmp(blob, method_blob) != 0)
		return err;
	err = check_id(&r, frame);
	if (err == 0)
		err = read_code_begin(&r, frame->code, &begin);
	if (err == 0 && begin > position)
		return 0;
	if (err == 0)
		err = hotspot_scopes_read(layout, memory->read, memory->arg, frame->code,
					  position - begin, frame->position & DP_HOTSPOT_EXACT,
					  scopes, &n);
	/* The code's own name is known without them. */
	if (err == -ENOENT || err == -ENOTSUP || err == -ESTALE)
		return 0;
	return err < 0 ? err : put_scopes(&r, scopes, n, ret);
}

static int read_code(const void *layout, const struct dp_runtime_frame *frame,
		     const struct runtime_memory *memory, struct runtime_code **ret)
{
	const struct reader r = { layout, memory };
	_cleanup_free_ struct runtime_code *code = calloc(1, sizeof(*code));
	int err;

	if (!code)
		return -ENOMEM;
	if (frame->position & DP_HOTSPOT_INTERPRETED)
		err = read_interpreted(&r, frame, &code);
	else
		err = read_compiled(&r, frame, code);
	if (err == 0)
		*ret = steal_ptr(code);
	return err;
}

static unsigned int line_of(const void *layout, const struct runtime_code *code,
			    const struct dp_runtime_frame *frame)
{
	const struct hotspot_line *lines = (const void *)code->lines, *best = NULL;
	uint32_t bci = (uint32_t)frame->position - 1; /* 0: not known */

	if (!(frame->position & DP_HOTSPOT_INTERPRETED) || bci == UINT32_MAX)
		return 0;
	/* They need not be in order. */
	for (size_t i = 0; i < code->lines_size / sizeof(*lines); i++)
		if (lines[i].bci <= bci && (!best || lines[i].bci >= best->bci))
			best = &lines[i];
	return best ? best->line : 0;
}

const struct runtime_source runtime_hotspot = {
	.method = DP_METHOD_JAVA,
	.kinds = DP_HOTSPOT_INTERPRETED,
	.unloaded = "[java, unloaded]",
	.layout_size = sizeof(struct hotspot_layout),
	.read = read_code,
	.near = NEAR,
	.expand = expand,
	.line = line_of,
};
