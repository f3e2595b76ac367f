// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"
#include "symtab.h"

void module_init(struct module *module, char *path, const char *build_id, int fd)
{
	const char *slash = strrchr(path, '/');

	*module = (struct module){
		.path = path,
		.name = slash ? slash + 1 : path,
		.build_id = build_id,
		.fd = fd,
	};
}

void module_done(struct module *module)
{
	symtab_free(module->symtab);
	if (module->fd >= 0)
		close(module->fd);
	free(module->path);
}

const char *module_find_symbol(struct module *module, uint64_t address, uint64_t *ret_offset)
{
	if (names_disabled())
		return NULL;
	if (!module->symtab_tried) {
		module->symtab_tried = true;
		/* A file whose symbols cannot be read is one without symbols. */
		(void)symtab_new(module->fd, module->memory, module->memory_size, module->path,
				 &module->symtab);
	}
	return module->symtab ? symtab_find(module->symtab, address, ret_offset) : NULL;
}
