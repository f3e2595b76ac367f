/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_PLT_H
#define DP_SYMBOLS_PLT_H

#include <stddef.h>
#include <stdint.h>

/*
 * PLT stubs, through which code of an ELF file calls functions of other files, or its own that are
 * chosen at startup (IFUNC). No symbol names them. A stub jumps to the address in a slot that the
 * dynamic linker has filled; the slot's relocation has the function's name.
 */
struct plt;

/*
 * Reads the file behind fd or, if fd is negative, size bytes of memory; neither is needed
 * afterwards. Returns 0, -ENODATA if it has no such stubs, or another negative errno.
 */
int plt_new(int fd, const void *memory, size_t size, struct plt **ret);
struct plt *plt_free(struct plt *plt);

/*
 * The name of the stub at an address of the file, as in debuggers: `sin@plt`. It lives as long as
 * *plt. NULL: there is none. *ret_start is the stub's start.
 */
const char *plt_find(const struct plt *plt, uint64_t address, uint64_t *ret_start);

#endif
