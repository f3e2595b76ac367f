/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_NAME_SOURCE_H
#define DP_SYMBOLS_NAME_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits/limits.h"
#include "symbols/location.h"

struct dwfl_source;
struct module;

/*
 * A kind of information that binaries have names in, such as debug information. Each source is an
 * object in a file of its own with a row in name_source.c. Its data about a module is in struct
 * module. All sources are asked about each address in the order of the table. NULL functions do
 * nothing.
 */
struct name_source {
	const char *name; /* "symbols" */
	/*
	 * Finds and reads it in the module, unless already done. False: the module has none, it
	 * cannot be read, or the file was written to since.
	 */
	bool (*open)(struct module *module);
	/*
	 * Finds the locations of an address in the module's own address space. Earlier sources have
	 * found n locations; returns how many there are now.
	 */
	size_t (*find)(struct module *module, uint64_t address, bool lines,
		       struct source_location locations[LOCATION_MAX], size_t n);
	/* Finds the start of the function at an address. 0 or -ENOENT. */
	int (*find_start)(struct module *module, uint64_t address, uint64_t *ret);
	/*
	 * The file is about to be closed: keeps what works without it. Called only if it is open.
	 */
	void (*detach)(struct module *module);
	/* Servers may have more than this machine: forgets that nothing was found. */
	void (*retry)(struct module *module);
	void (*free)(struct module *module);
	bool outlives_file; /* it works without the file, so it is opened before closing */
	bool is_final;      /* its results need no other source and are not kept on disk */
};

/* Row i of the table; NULL: there are no more. */
const struct name_source *name_source(size_t i);

extern const struct name_source name_source_go;
extern const struct name_source name_source_debug;
extern const struct name_source name_source_symtab;
extern const struct name_source name_source_go_other;
extern const struct name_source name_source_plt;
extern const struct name_source name_source_starts;

/* What libdwfl needs to open the module's file. */
struct dwfl_source module_dwfl_source(struct module *module);

#endif
