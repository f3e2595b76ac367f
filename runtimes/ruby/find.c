// SPDX-License-Identifier: Apache-2.0
/*
 * Finds Ruby (MRI) from 3.0 on in a file, which may be its program, libruby, or one that embeds it. It
 * exports ruby_current_ec, a thread-local pointer to the thread's rb_execution_context_t, and its version.
 * That decides the layout (layouts.h).
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
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

static int find(const struct elf_file *file, struct dp_runtime_image *ret)
{
	struct dp_chain place;
	uint32_t version;

	version = version_of(file);
	/* From 3.3 on, a stripped one does not say where a thread has its context. */
	if (exports_find_variable(file, "ruby_current_ec", &place) < 0)
		return version ? -ENOTSUP : -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].ruby.version != version)
			continue;
		*ret = layouts[i];
		ret->chain.place = place.place;
		ret->chain.variable = place.variable;
		return exports_find_loop(file, "rb_vm_exec", ret->ranges);
	}
	return -ENOTSUP;
}

const struct runtime_source runtime_ruby = {
	.method = DP_METHOD_RUBY,
	.unloaded = "[ruby, unloaded]",
	.find = find,
	.layout_size = sizeof(struct dp_runtime_image),
	.read = ruby_read_code,
	.line = ruby_code_line,
};
