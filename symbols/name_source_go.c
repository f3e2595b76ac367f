// SPDX-License-Identifier: Apache-2.0
/*
 * Go's own tables: everything for Go code; only the function for C code that Go's linker has
 * linked.
 */
#include <errno.h>

#include "limits/limits.h"
#include "symbols/go_names.h"
#include "symbols/module.h"
#include "symbols/name_source.h"
#include "symbols/names.h"

/* The tables are mapped, so they may have changed if the file was written to. */
static bool open_go(struct module *module)
{
	if (!module->go_tried) {
		module->go_tried = true;
		if (module->fd >= 0 && !module_is_written_to(module))
			(void)go_names_new(module->fd, &module->go);
	}
	return module->go && !module_is_written_to(module);
}

static size_t find_go(struct module *module, uint64_t address, bool lines,
		      struct source_location locations[LOCATION_MAX], size_t n)
{
	return open_go(module) ? go_names_find(module->go, address, lines, locations) : n;
}

static int find_go_start(struct module *module, uint64_t address, uint64_t *ret)
{
	return open_go(module) ? go_names_find_start(module->go, address, ret) : -ENOENT;
}

/* If memory for a copy of the names is short, there are none. */
static void detach_go(struct module *module)
{
	module->go_tried = true;
	if (module->go && (module_is_written_to(module) || go_names_detach(module->go) < 0))
		module->go = go_names_free(module->go);
}

static void free_go(struct module *module)
{
	module->go = go_names_free(module->go);
}

const struct name_source name_source_go = {
	.name = "go",
	.open = open_go,
	.find = find_go,
	.find_start = find_go_start,
	.detach = detach_go,
	.free = free_go,
	.outlives_file = true,
	.is_final = true,
};

static size_t find_other(struct module *module, uint64_t address, bool lines,
			 struct source_location locations[LOCATION_MAX], size_t n)
{
	const char *symbol = NULL;

	if (n == 0 && !names_disabled(module->names) && open_go(module))
		symbol = go_names_find_other(module->go, address);
	if (!symbol)
		return n;
	locations[0] = (struct source_location){ .function = symbol };
	return 1;
}

const struct name_source name_source_go_other = { .name = "go, other code", .find = find_other };
