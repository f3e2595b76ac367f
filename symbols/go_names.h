/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_GO_NAMES_H
#define DP_SYMBOLS_GO_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits/limits.h"
#include "symbols/location.h"

/*
 * The names of Go code in one ELF file, from the table that Go's own runtime uses (go/). It remains
 * in stripped files and is complete.
 */
struct go_names;

/*
 * Reads the file behind fd, which the caller keeps open until go_names_detach(). Returns 0, -ENOENT
 * if it has no Go code, or another negative errno.
 */
int go_names_new(int fd, struct go_names **ret);
struct go_names *go_names_free(struct go_names *g);

/*
 * Copies the functions' names so that the file can be closed. Lines are unknown from then on. 0 or
 * -ENOMEM.
 */
int go_names_detach(struct go_names *g);

/*
 * Finds the locations of an address, innermost first, with the names of the table, which live as
 * long as *g or until go_names_detach(). Returns their number; 0 if the address is not in Go code.
 */
size_t go_names_find(const struct go_names *g, uint64_t address, bool lines,
		     struct source_location locations[LOCATION_MAX]);

/*
 * The name of the function at an address that is not Go code: C code that Go's own linker has
 * linked, about which the table has only the name. NULL: there is none.
 */
const char *go_names_find_other(const struct go_names *g, uint64_t address);

/* The start of the Go function at an address. 0 or -ENOENT. */
int go_names_find_start(const struct go_names *g, uint64_t address, uint64_t *ret);

#endif
