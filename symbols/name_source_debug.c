// SPDX-License-Identifier: Apache-2.0
/* Debug information: functions, inlined calls, files and lines. */
#include <utlist.h>

#include "limits/limits.h"
#include "symbols/debug_info.h"
#include "symbols/dwfl_file.h"
#include "symbols/module.h"
#include "symbols/name_source.h"
#include "symbols/names_parts.h"

void module_close_debug(struct module *module)
{
	struct names *names = module->names;

	if (!module->debug)
		return;
	DL_DELETE2(names->open, module, prev_open, next_open);
	names->n_open--;
	names->open_memory -= debug_info_memory(module->debug);
	module->debug = debug_info_free(module->debug);
}

static bool open_debug(struct module *module)
{
	const struct dwfl_source source = module_dwfl_source(module);
	struct names *names = module->names;
	int err;

	if (module->debug) {
		DL_DELETE2(names->open, module, prev_open, next_open);
	} else {
		if (module->no_debug || module_is_written_to(module))
			return false;
		err = debug_info_new(&source, &module->debug);
		module->no_debug = err < 0;
		if (err < 0)
			return false;
		module->keeps_locations = true;
		names->n_open++;
		names->open_memory += debug_info_memory(module->debug);
	}
	DL_APPEND2(names->open, module, prev_open, next_open);
	return true;
}

static size_t find(struct module *module, uint64_t address, bool lines,
		   struct source_location locations[LOCATION_MAX], size_t n)
{
	const struct names_options *options = &module->names->options;
	size_t before;
	int n_found;

	if ((options->no_inlines && !lines) || !open_debug(module))
		return n;
	before = debug_info_memory(module->debug);
	n_found = debug_info_find(module->debug, address, lines, locations);
	module->is_partial |= n_found < 0 || !debug_info_is_whole(module->debug);
	module->names->open_memory += debug_info_memory(module->debug) - before;
	return n_found > 0 ? (size_t)n_found : n;
}

static void detach(struct module *module)
{
	module_close_debug(module);
	module->no_debug = true;
}

static void retry(struct module *module)
{
	module->no_debug = false;
}

const struct name_source name_source_debug = {
	.name = "debug information",
	.open = open_debug,
	.find = find,
	.detach = detach,
	.retry = retry,
	.free = module_close_debug,
};
