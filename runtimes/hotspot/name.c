// SPDX-License-Identifier: Apache-2.0
/* Names of a JVM's code, from its memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtimes/hotspot/layout.h"
#include "runtimes/runtime.h"

/* Names of blobs are short. */
#define BLOB_NAME_SIZE 128
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

/* Reads "package.Class.method" of a Method. */
static int read_method(const struct reader *r, uint64_t method, uint64_t constant,
		       char ret[RUNTIME_NAME_SIZE])
{
	const struct hotspot_layout *l = r->layout;
	uint64_t pool, class, symbol;
	uint16_t index = 0;
	uint32_t length = 0;
	int err = read_member(r, constant, HOTSPOT_CONST_CONSTANTS, &pool);

	if (err == 0)
		err = read_member(r, pool, HOTSPOT_POOL_HOLDER, &class);
	if (err == 0)
		err = read_member(r, class, HOTSPOT_KLASS_NAME, &symbol);
	if (err == 0)
		err = append_symbol(r, symbol, ret);
	if (err == 0)
		err = read_at(r, constant + l->at[HOTSPOT_CONST_NAME], &index, sizeof(index));
	if (err == 0)
		err = read_at(r, pool + l->at[HOTSPOT_POOL_LENGTH], &length, sizeof(length));
	if (err < 0)
		return err;
	if (index == 0 || index >= length || strlen(ret) + 2 > RUNTIME_NAME_SIZE)
		return -ESTALE;
	make_readable(ret);
	strcat(ret, ".");
	err = read_at(r, pool + l->pool_size + index * sizeof(symbol), &symbol, sizeof(symbol));
	return err < 0 ? err : append_symbol(r, symbol, ret);
}

/* Whether the method's constant part is still that of the sample. */
static int read_interpreted(const struct reader *r, const struct dp_runtime_frame *frame,
			    char ret[RUNTIME_NAME_SIZE])
{
	uint64_t constant;
	int err = read_member(r, frame->code, HOTSPOT_METHOD_CONST, &constant);

	if (err == 0 && constant != frame->tag)
		return -ESTALE;
	return err < 0 ? err : read_method(r, frame->code, constant, ret);
}

/* -ESTALE: the blob is that of another method, or none of a method any more. */
static int check_id(const struct reader *r, const struct dp_runtime_frame *frame)
{
	uint32_t id;
	int err = read_at(r, frame->code + r->layout->at[HOTSPOT_NMETHOD_ID], &id, sizeof(id));

	return err == 0 && id != frame->tag ? -ESTALE : err;
}

static int read_compiled(const struct reader *r, const struct dp_runtime_frame *frame,
			 char ret[RUNTIME_NAME_SIZE])
{
	bool is_own = hotspot_layout_has(r->layout, HOTSPOT_NMETHOD_METHOD);
	uint64_t name, method, constant;
	char blob[BLOB_NAME_SIZE];
	int err = read_member(r, frame->code, HOTSPOT_BLOB_NAME, &name);

	if (err == 0)
		err = read_string(r, name, blob);
	if (err < 0)
		return err;
	if (strcmp(blob, method_blob) != 0 && strcmp(blob, native_blob) != 0) {
		snprintf(ret, RUNTIME_NAME_SIZE, "[%s]", blob);
		return blob[0] == '\0' ? -ESTALE : 0;
	}
	err = check_id(r, frame);
	if (err == 0)
		err = read_member(r, frame->code,
				  is_own ? HOTSPOT_NMETHOD_METHOD : HOTSPOT_COMPILED_METHOD,
				  &method);
	if (err == 0)
		err = read_member(r, method, HOTSPOT_METHOD_CONST, &constant);
	return err < 0 ? err : read_method(r, method, constant, ret);
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
		err = read_interpreted(&r, frame, code->function);
	else
		err = read_compiled(&r, frame, code->function);
	if (err == 0)
		*ret = steal_ptr(code);
	return err;
}

static unsigned int line_of(const void *layout, const struct runtime_code *code,
			    const struct dp_runtime_frame *frame)
{
	return 0;
}

const struct runtime_source runtime_hotspot = {
	.method = DP_METHOD_JAVA,
	.unloaded = "[java, unloaded]",
	.layout_size = sizeof(struct hotspot_layout),
	.read = read_code,
	.line = line_of,
};
