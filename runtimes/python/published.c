// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "elf/elf_symbols.h"
#include "runtimes/python/python.h"

#define COOKIE "xdebugpy"

/* struct _Py_DebugOffsets of 3.13, Include/internal/pycore_runtime.h; later members are not used. */
struct offsets {
	char cookie[8];
	uint64_t version; /* PY_VERSION_HEX */
	uint64_t free_threaded;
	struct {
		uint64_t size, finalizing, interpreters_head;
	} runtime;
	struct {
		uint64_t size, id, next, threads_head, gc, imports_modules, sysdict, builtins,
			ceval_gil, gil_runtime_state, gil_runtime_state_enabled,
			gil_runtime_state_locked, gil_runtime_state_holder;
	} interpreter;
	struct {
		uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id,
			datastack_chunk, status;
	} thread;
	struct {
		uint64_t size, previous, executable, instr_ptr, localsplus, owner;
	} frame;
	struct {
		uint64_t size, filename, name, qualname, linetable, firstlineno, argcount,
			localsplusnames, localspluskinds, code;
	} code;
	struct {
		uint64_t size, type;
	} object;
	struct {
		uint64_t size, name, repr, flags;
	} type;
	struct {
		uint64_t size, items, n;
	} tuple, list;
	struct {
		uint64_t size, keys, values;
	} dict;
	struct {
		uint64_t size, value;
	} real;
	struct {
		uint64_t size, tag, digits;
	} integer;
	struct {
		uint64_t size, n, bytes;
	} bytes;
	struct {
		uint64_t size, state, length, ascii_size;
	} string;
};

/* FRAME_OWNED_BY_CSTACK of 3.13, Include/internal/pycore_frame.h. */
#define OWNED_BY_C_STACK 3
/* An ASCII string's hash follows its length (struct PyASCIIObject); the text of another one has its UTF-8 form in front. */
#define HASH_AFTER_LENGTH 8
#define UTF8_SIZE 16

/* A structure's end, as far as it is read. */
static uint32_t frame_size(const struct offsets *o)
{
	const uint64_t ends[] = { o->frame.previous + 8, o->frame.executable + 8,
				  o->frame.instr_ptr + 8, o->frame.owner + 1 };
	uint64_t size = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		size = ends[i] > size ? ends[i] : size;
	return (uint32_t)size;
}

static bool is_plausible(const struct offsets *o)
{
	const uint64_t *all = &o->runtime.size;
	const uint64_t *end = &o->string.ascii_size + 1;

	for (; all < end; all++)
		if (*all > UINT32_MAX / 2)
			return false;
	return frame_size(o) <= DP_PYTHON_FRAME_SIZE;
}

int python_published(const struct elf_file *file, uint64_t runtime, uint32_t version,
		     struct dp_runtime_image *ret)
{
	const void *bytes = elf_bytes_at(file, runtime, sizeof(struct offsets));
	struct offsets o;

	if (!bytes || version != PYTHON_PUBLISHES)
		return -ENOTSUP;
	memcpy(&o, bytes, sizeof(o));
	if (memcmp(o.cookie, COOKIE, sizeof(o.cookie)) != 0 || o.version >> 16 != version ||
	    !is_plausible(&o))
		return -ENOTSUP;
	*ret = (struct dp_runtime_image){
		.python = {
			.interpreters = (uint32_t)o.runtime.interpreters_head,
			.next_interpreter = (uint32_t)o.interpreter.next,
			.first_thread = (uint32_t)o.interpreter.threads_head,
			.next_thread = (uint32_t)o.thread.next,
			.thread_id = (uint32_t)o.thread.thread_id,
			.thread_frame = (uint32_t)o.thread.current_frame,
			.frame_size = frame_size(&o),
			.previous = (uint32_t)o.frame.previous,
			.code = (uint32_t)o.frame.executable,
			.position = (uint32_t)o.frame.instr_ptr,
			.position_size = sizeof(uint64_t),
			.entry = (uint32_t)o.frame.owner,
			.entry_kind = DP_PYTHON_ENTRY_LINK,
			.link = OWNED_BY_C_STACK,
			.name = (uint32_t)o.code.name,
			.line = (uint32_t)o.code.firstlineno,
			.hash = (uint32_t)o.string.length + HASH_AFTER_LENGTH,
		},
		.names = {
			.version = version,
			.qualname = (uint32_t)o.code.qualname,
			.filename = (uint32_t)o.code.filename,
			.lines = (uint32_t)o.code.linetable,
			.instructions = (uint32_t)o.code.code,
			.string_size = (uint32_t)o.string.length,
			.string_state = (uint32_t)o.string.state,
			.string_ascii = (uint32_t)o.string.ascii_size,
			.string_text = (uint32_t)o.string.ascii_size + UTF8_SIZE,
			.bytes_size = (uint32_t)o.bytes.n,
			.bytes = (uint32_t)o.bytes.bytes,
		},
	};
	return 0;
}
