// SPDX-License-Identifier: Apache-2.0
/*
 * Finds Ruby (MRI) from 3.0 on in a file, which may be its program, libruby, or one that embeds it.
 * It exports its version, which decides the layout (layouts.h), and up to 3.2 ruby_current_ec, a
 * thread-local pointer to the thread's rb_execution_context_t; later ones export rb_errinfo(),
 * which reads that.
 *
 * Functions in C have frames, too, with numbers of names. What has the names (ruby_global_symbols)
 * is found in stripped files by what it contains before the program runs; and functions that call
 * those in C (vm_call_cfunc_with_frame() and what it has been compiled into) by the constant that
 * they put in their frames.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "elf/code_search.h"
#include "elf/cold_part.h"
#include "elf/elf_tls.h"
#include "runtimes/exports.h"
#include "runtimes/ruby/ruby.h"

static const struct dp_runtime_image layouts[] = {
#include "runtimes/ruby/layouts.h"
};

/* major << 8 | minor; 0: not known. */
static uint32_t version_of(const struct elf_file *file)
{
	static const char *const name = "ruby_api_version"; /* major, minor, 0 */
	struct elf_symbol symbol;
	const void *bytes;
	int version[2];

	exports_find(file, &name, 1, &symbol);
	bytes = symbol.address ? elf_bytes_at(file, symbol.address, sizeof(version)) : NULL;
	if (!bytes)
		return 0;
	memcpy(version, bytes, sizeof(version));
	return (uint32_t)version[0] << 8 | (uint32_t)version[1];
}

static int on_names(void *arg, const struct elf_symbol *s)
{
	uint64_t *ret = arg;

	if (strcmp(s->name, "ruby_global_symbols") == 0)
		*ret = s->address;
	return 0;
}

/*
 * What has the names of numbers, as it is in the file: how many there will be at first, and nothing
 * else yet. Compilers align it to its size.
 */
struct no_names {
	uint32_t last;
	uint32_t zero[7];
};

/* Counts what looks like that, at addresses to which *ret is set. */
static size_t count_no_names(const struct elf_file *file, const struct elf_segment *s,
			     uint32_t first_names, uint64_t *ret)
{
	const struct no_names wanted = { .last = first_names };
	const char *bytes = elf_bytes_at(file, s->address, s->file_size);
	size_t n = 0, i = -s->address & (sizeof(wanted) - 1);

	for (; bytes && i + sizeof(wanted) <= s->file_size; i += sizeof(wanted)) {
		if (memcmp(bytes + i, &wanted, sizeof(wanted)) != 0)
			continue;
		*ret = s->address + i;
		n++;
	}
	return n;
}

/* Where what has the names is in the file. 0: not known. */
static uint64_t find_names(const struct elf_file *file, uint32_t first_names)
{
	uint64_t found = 0, size = 0;
	size_t n = 0;

	elf_symbols_each(file, true, on_names, &found);
	if (found)
		return found;
	for (size_t i = 0; i < file->n_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		/* In a forged file, all may be the same bytes. */
		if (!s->writable || s->file_size > file->size - size)
			continue;
		size += s->file_size;
		n += count_no_names(file, s, first_names, &found);
	}
	return n == 1 ? found : 0;
}

/* Functions in C: VM_FRAME_FLAG_CFRAME, VM_ENV_FLAG_LOCAL; maybe VM_FRAME_FLAG_CFRAME_KW. */
#define C_FRAME 0x82
#define C_FRAME_KEYWORDS 0x400

static int add_range(struct dp_runtime_range *ranges, const struct dp_runtime_range *range)
{
	for (size_t i = 0; i < DP_RUNTIME_RANGES; i++)
		if (ranges[i].end == 0) {
			ranges[i] = *range;
			return 0;
		}
	return -ENOSPC;
}

static int on_call(void *arg, uint64_t start, uint64_t end)
{
	return add_range(arg, &(struct dp_runtime_range){ start, end, .calls = true });
}

static void find_calls(const struct elf_file *file, struct dp_runtime_image *ret)
{
	ret->chain.c_names = find_names(file, ret->ruby.first_names);
	if (ret->chain.c_names)
		(void)code_each_with(file, ret->chain.c_kind | C_FRAME, C_FRAME_KEYWORDS, on_call,
				     ret->ranges);
}

/*
 * Kinds of frames (vm_core.h) that the code that rescues in evaluation loops tells apart, and one
 * that others do, too.
 */
#define KIND_RESCUE 0x78880001
#define KIND_METHOD 0x11110001

struct loop_search {
	const struct elf_file *file;
	uint64_t start, end; /* of what was found; 0: nothing */
};

static int on_rescue(void *arg, uint64_t start, uint64_t end)
{
	struct loop_search *s = arg;

	if (!code_has(s->file, start, end, KIND_RESCUE, 0) ||
	    code_has(s->file, start, end, KIND_METHOD, 0))
		return 0;
	if (s->end != 0)
		return -EMLINK;
	s->start = start;
	s->end = end;
	return 0;
}

/*
 * The evaluation loop of a file without its symbol. What rescues (vm_exec_handle_exception()) is
 * the only function with its constants, and only the loop calls it.
 */
static int find_stripped_loop(const struct elf_file *file, struct dp_runtime_image *ret)
{
	struct loop_search rescue = { .file = file };
	uint64_t start, end;
	int err = code_each_with(file, ret->chain.c_kind, 0, on_rescue, &rescue);

	if (err == 0)
		err = rescue.end != 0 ? code_find_caller(file, rescue.start, &start, &end) :
					-ENOENT;
	if (err < 0)
		return err;
	(void)add_range(ret->ranges, &(struct dp_runtime_range){ start, end, .is_loop = true });
	if (cold_part_find(file, start, end, &start, &end) == 0)
		(void)add_range(ret->ranges,
				&(struct dp_runtime_range){ start, end, .is_loop = true });
	return 0;
}

/* The thread's context, as what returns its error gets at it. */
static int find_unnamed_context(const struct elf_file *file, uint32_t error, struct dp_chain *ret)
{
	static const char *const name = "rb_errinfo";
	struct elf_symbol symbol;
	struct dp_tls tls;
	const void *code;

	exports_find(file, &name, 1, &symbol);
	code = symbol.address ? elf_bytes_at(file, symbol.address, symbol.size) : NULL;
	if (!code || error > INT8_MAX ||
	    !elf_tls_returned(code, symbol.size, symbol.address, (uint8_t)error, &tls))
		return -ENOENT;
	ret->place = tls.kind;
	ret->variable = tls.value;
	return 0;
}

static int find_known(const struct elf_file *file, const struct dp_runtime_image *layout,
		      struct dp_runtime_image *ret)
{
	*ret = *layout;
	if ((exports_find_variable(file, "ruby_current_ec", &ret->chain) < 0 &&
	     find_unnamed_context(file, ret->ruby.error, &ret->chain) < 0) ||
	    (exports_find_loop(file, "rb_vm_exec", ret->ranges) < 0 &&
	     find_stripped_loop(file, ret) < 0))
		return -ENOTSUP;
	find_calls(file, ret);
	return 0;
}

static int find(const struct elf_file *file, struct dp_runtime_image *ret)
{
	uint32_t version = version_of(file);

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].ruby.version == version)
			return find_known(file, &layouts[i], ret);
	return version ? -ENOTSUP : -ENOENT;
}

const struct runtime_source runtime_ruby = {
	.method = DP_METHOD_RUBY,
	.kinds = DP_RUNTIME_C,
	.unloaded = "[ruby, unloaded]",
	.find = find,
	.layout_size = sizeof(struct dp_runtime_image),
	.read = ruby_read_code,
	.line = ruby_code_line,
};
