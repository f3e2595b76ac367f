// SPDX-License-Identifier: Apache-2.0
/*
 * Finds PHP in a file, which may be its program, libphp, or a web server's module. It exports
 * executor_globals, or with threads (ZTS), for which it is not known where a thread has them,
 * executor_globals_offset. What its extensions have to match tells the layout (layouts.h):
 * ZEND_MODULE_BUILD_ID, "API" with a number and what it was built with.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "runtimes/exports.h"
#include "runtimes/php/php.h"

static const struct dp_runtime_image layouts[] = {
#include "runtimes/php/layouts.h"
};

enum mark { GLOBALS, GLOBALS_OFFSET, EXECUTE, N_MARKS };

static const char *const marks[N_MARKS] = {
	[GLOBALS] = "executor_globals",
	[GLOBALS_OFFSET] = "executor_globals_offset",
	[EXECUTE] = "execute_ex",
};

/* Is a text, with the NUL that ends it, in the file? */
static bool contains(const struct elf_file *file, const char *text)
{
	return memmem(file->bytes, file->size, text, strlen(text) + 1) != NULL;
}

static bool is_of_api(const struct elf_file *file, uint32_t api)
{
	char text[32];

	snprintf(text, sizeof(text), "API%u,NTS", api);
	return contains(file, text);
}

static int find(const struct elf_file *file, struct dp_runtime_image *ret)
{
	struct elf_symbol found[N_MARKS];

	exports_find(file, marks, N_MARKS, found);
	if (found[EXECUTE].address == 0)
		return -ENOENT;
	if (found[GLOBALS].address == 0)
		return found[GLOBALS_OFFSET].address ? -ENOTSUP : -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (!is_of_api(file, layouts[i].php.api))
			continue;
		*ret = layouts[i];
		ret->chain.variable += found[GLOBALS].address;
		return exports_find_loop(file, marks[EXECUTE], ret->ranges);
	}
	return -ENOTSUP;
}

const struct runtime_source runtime_php = {
	.method = DP_METHOD_PHP,
	.unloaded = "[php, unloaded]",
	.find = find,
	.layout_size = sizeof(struct dp_runtime_image),
	.read = php_read_code,
	.line = php_code_line,
};
