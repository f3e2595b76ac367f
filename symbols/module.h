/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_MODULE_H
#define DP_SYMBOLS_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symtab;

/*
 * A binary that code was sampled in, as far as names need it. Its symbols are
 * read when the first of them is asked for; `fd` or `memory` stay valid until
 * then, so that the file may be deleted and the process gone.
 */
struct module {
	char *path;           /* as the process sees it, or "[vdso]" */
	const char *name;     /* last part of the path */
	const char *build_id; /* hex, its first 20 bytes at most; "" if there is none */
	int fd;               /* owned; -1: the module is in memory */
	const void *memory;
	size_t memory_size;
	struct symtab *symtab;
	bool symtab_tried;
};

/* Takes over path and fd. build_id stays the caller's. */
void module_init(struct module *module, char *path, const char *build_id, int fd);
void module_done(struct module *module);

/*
 * The function at an address of the module's own address space, and the
 * distance from its start; NULL if the module has no symbol there, or names are
 * not wanted any more (names.h).
 */
const char *module_find_symbol(struct module *module, uint64_t address, uint64_t *ret_offset);

#endif
