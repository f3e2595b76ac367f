/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_PLT_H
#define DP_SYMBOLS_PLT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The stubs by which code of one ELF file calls functions of others, and its own that are chosen when
 * it starts (IFUNC): no symbol names them. Each jumps to an address that the dynamic linker has put
 * into a slot, and the relocation of that slot has the function's name.
 */
struct plt;

/*
 * Of the file behind fd, or if fd is negative, of size bytes of memory: only while it is read.
 * Returns 0, -ENODATA: it has no such stubs, or another negative errno.
 */
int plt_new(int fd, const void *memory, size_t size, struct plt **ret);
struct plt *plt_free(struct plt *plt);

/*
 * The stub that an address of the file lies in, called as debuggers call it: `sin@plt`. It lives as
 * long as *plt. NULL: none is there. Where it begins is put into *ret_start.
 */
const char *plt_find(const struct plt *plt, uint64_t address, uint64_t *ret_start);

#endif
