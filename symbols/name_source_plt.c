// SPDX-License-Identifier: Apache-2.0
/* PLT stubs, which no symbol names. */
#include <errno.h>

#include "limits/limits.h"
#include "symbols/module.h"
#include "symbols/name_source.h"
#include "symbols/names.h"
#include "symbols/plt.h"

/* Copies everything, so the file is read once. */
static bool open_plt(struct module *module)
{
	if (!module->plt_tried) {
		module->plt_tried = true;
		if (module_has_file(module))
			(void)plt_new(module->fd, module->memory, module->memory_size,
				      &module->plt);
	}
	return module->plt != NULL;
}

static size_t find_stub(struct module *module, uint64_t address, bool lines,
			struct source_location locations[LOCATION_MAX], size_t n)
{
	const char *stub = NULL;
	uint64_t start;

	if (n == 0 && !names_disabled(module->names) && open_plt(module))
		stub = plt_find(module->plt, address, &start);
	if (!stub)
		return n;
	locations[0] = (struct source_location){ .function = stub };
	return 1;
}

static int find_start(struct module *module, uint64_t address, uint64_t *ret)
{
	return open_plt(module) && plt_find(module->plt, address, ret) ? 0 : -ENOENT;
}

static void detach(struct module *module)
{
	module->plt_tried = true;
}

static void free_plt(struct module *module)
{
	module->plt = plt_free(module->plt);
}

const struct name_source name_source_plt = {
	.name = "plt",
	.open = open_plt,
	.find = find_stub,
	.find_start = find_start,
	.detach = detach,
	.free = free_plt,
	.outlives_file = true,
};
