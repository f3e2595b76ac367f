/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_NAME_SOURCE_H
#define DP_SYMBOLS_NAME_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/location.h"

struct dwfl_source;
struct module;

/*
 * What binaries have names in, such as debug information. A source is one object in a file of its
 * own, with a row in name_source.c; what it keeps of a module is in struct module. All are asked for
 * each address, in the order of the table. Functions that are NULL do nothing.
 */
struct name_source {
	const char *name; /* "symbols" */
	/*
	 * Recognise it in the module, and read it, unless that was done. False: there is none, or it
	 * cannot be read, or the file was written to since.
	 */
	bool (*open)(struct module *module);
	/*
	 * Name an address of the module's own address space. The sources before it have found n
	 * locations; returns how many there are now.
	 */
	size_t (*find)(struct module *module, uint64_t address, bool lines,
		       struct source_location locations[LOCATION_MAX], size_t n);
	/* Where the function of an address begins: 0 or -ENOENT. */
	int (*find_start)(struct module *module, uint64_t address, uint64_t *ret);
	/* The file is about to be closed: keep what can be kept without it, if only it is open. */
	void (*detach)(struct module *module);
	/* Servers may have more than this machine: forget that there was nothing. */
	void (*retry)(struct module *module);
	void (*free)(struct module *module);
	bool outlives_file; /* it is of use when the file is closed, so that it is opened before */
	bool is_final;      /* an address that it knows is not asked of others, nor kept on disk */
};

/* Row number i; NULL: there are no more. */
const struct name_source *name_source(size_t i);

extern const struct name_source name_source_go;
extern const struct name_source name_source_debug;
extern const struct name_source name_source_symtab;
extern const struct name_source name_source_go_other;
extern const struct name_source name_source_plt;
extern const struct name_source name_source_starts;

/* Where libdwfl finds the module's file. */
struct dwfl_source module_dwfl_source(const struct module *module);

#endif
