/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_SYMTAB_H
#define DP_SYMBOLS_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

/*
 * The functions of one ELF file, by address: from .symtab, from that of a
 * separate debug file on this machine, from .gnu_debugdata, and from .dynsym,
 * whichever libdwfl finds to be the most complete.
 */
struct symtab;

/*
 * Read the functions of the file behind fd (which stays the caller's), or, if
 * fd is negative, in size bytes of memory, which stay in use. `path` helps to
 * find a separate debug file. Returns 0, or a negative errno: -ECANCELED if
 * names are not wanted any more (names.h). A file without symbols is no error.
 */
int symtab_new(int fd, const void *memory, size_t size, const char *path, struct symtab **ret);
struct symtab *symtab_free(struct symtab *t);

/*
 * The function that an address of the file lies in: its demangled name, which
 * lives as long as the table, and the distance from its start. NULL if the
 * address is in none.
 */
const char *symtab_find(struct symtab *t, uint64_t address, uint64_t *ret_offset);

#endif
