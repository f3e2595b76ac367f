// SPDX-License-Identifier: Apache-2.0
/* Symbol tables: functions. */
#include <errno.h>

#include "limits/limit_hits.h"
#include "limits/limits.h"
#include "symbols/dwfl_file.h"
#include "symbols/module.h"
#include "symbols/name_source.h"
#include "symbols/names_parts.h"
#include "symbols/symtab.h"

static uint64_t max_memory(const struct names *names)
{
	uint64_t used = names->symbol_memory;

	if (used < MODULE_SYMBOL_MEMORY)
		return (MODULE_SYMBOL_MEMORY - used) / MODULE_SYMBOL_SHARE;
	LIMIT_HIT(MODULE_SYMBOL_MEMORY);
	return 0;
}

static bool open_symtab(struct module *module)
{
	const struct dwfl_source source = module_dwfl_source(module);
	struct names *names = module->names;

	if (!module->symtab_tried) {
		module->symtab_tried = true;
		/* A file whose symbols cannot be read is treated as one without symbols. */
		if (!module_is_written_to(module) &&
		    symtab_new(&source, max_memory(names), &module->symtab) == 0)
			names->symbol_memory += symtab_memory(module->symtab);
	}
	return module->symtab != NULL;
}

/*
 * Also replaces the function's name from debug information, so that it does not depend on that.
 * Debug information has `__libc_start_main_impl` and `__GI_exit` where symbol tables have public
 * names, and often only the last part of local functions' names.
 */
static size_t find_symbol(struct module *module, uint64_t address, bool lines,
			  struct source_location locations[LOCATION_MAX], size_t n)
{
	const char *symbol = NULL;

	if (!names_disabled(module->names) && open_symtab(module))
		symbol = symtab_find_symbol(module->symtab, address);
	if (!symbol)
		return n;
	if (n == 0)
		locations[n++] = (struct source_location){ 0 };
	locations[n - 1].function = symbol;
	return n;
}

static int find_start(struct module *module, uint64_t address, uint64_t *ret)
{
	return open_symtab(module) ? symtab_find_start(module->symtab, address, ret) : -ENOENT;
}

static void detach(struct module *module)
{
	module->symtab_tried = true;
	if (module->symtab)
		(void)symtab_detach(module->symtab);
}

static void forget(struct module *module)
{
	if (module->symtab)
		module->names->symbol_memory -= symtab_memory(module->symtab);
	module->symtab = symtab_free(module->symtab);
	module->symtab_tried = false;
}

const struct name_source name_source_symtab = {
	.name = "symbols",
	.open = open_symtab,
	.find = find_symbol,
	.find_start = find_start,
	.detach = detach,
	.retry = forget,
	.free = forget,
	.outlives_file = true,
};
