/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_GO_NAMES_H
#define DP_SYMBOLS_GO_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/location.h"

/*
 * The Go code of one ELF file, by the table that Go's own runtime names it with (go/): also
 * stripped files have it, and it says all there is to say.
 */
struct go_names;

/*
 * Of the file behind fd, which stays open until go_names_detach(). 0, -ENOENT: it has no Go code,
 * or another negative errno.
 */
int go_names_new(int fd, struct go_names **ret);
struct go_names *go_names_free(struct go_names *g);

/* Copy the functions' names, and let go of the file: lines are not known any more. 0 or -ENOMEM. */
int go_names_detach(struct go_names *g);

/*
 * The locations of an address, the innermost first, with names as the table has them, which live
 * as long as *g, or until go_names_detach(). Returns how many: 0 if it is not in Go's code.
 */
size_t go_names_find(const struct go_names *g, uint64_t address, bool lines,
		     struct source_location locations[LOCATION_MAX]);

/*
 * The name of the function that an address is in where it is none of Go's: C code that Go's linker
 * has linked itself, of which nothing else is known here. NULL: there is none.
 */
const char *go_names_find_other(const struct go_names *g, uint64_t address);

/* Where the function of an address begins, if it is one of Go's: 0 or -ENOENT. */
int go_names_find_start(const struct go_names *g, uint64_t address, uint64_t *ret);

#endif
