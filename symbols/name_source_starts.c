// SPDX-License-Identifier: Apache-2.0
/* Unwind information: the starts of functions, including those without a name. */
#include <errno.h>

#include "symbols/function_starts.h"
#include "symbols/module.h"
#include "symbols/name_source.h"

/* Copies everything, so the file is read once. */
static bool open_starts(struct module *module)
{
	if (!module->starts_tried) {
		module->starts_tried = true;
		if (module_has_file(module))
			(void)function_starts_new(module->fd, module->memory, module->memory_size,
						  &module->starts);
	}
	return module->starts != NULL;
}

static int find_start(struct module *module, uint64_t address, uint64_t *ret)
{
	uint64_t end;

	return open_starts(module) ? function_starts_find(module->starts, address, ret, &end) :
				     -ENOENT;
}

static void detach(struct module *module)
{
	module->starts_tried = true;
}

static void free_starts(struct module *module)
{
	module->starts = function_starts_free(module->starts);
}

const struct name_source name_source_starts = {
	.name = "unwind information",
	.open = open_starts,
	.find_start = find_start,
	.detach = detach,
	.free = free_starts,
};
