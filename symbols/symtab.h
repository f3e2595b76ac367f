/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_SYMTAB_H
#define DP_SYMBOLS_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

/*
 * The functions of one ELF file, by address: from .symtab, from that of a
 * separate debug file on this machine, from .gnu_debugdata, and from .dynsym,
 * whichever libdwfl finds to be the most complete. A function without a size ends where the next
 * one begins, or where the unwind information says; without that, in a stripped file, at a return
 * that padding follows.
 */
struct symtab;
struct dwfl_source;

/*
 * Read the functions of a file (dwfl_file.h). Returns 0, or a negative errno: -ECANCELED if
 * names are not wanted any more (names.h), -E2BIG if symbols would take too much
 * memory (decompressed.h). A file without symbols is no error.
 */
int symtab_new(const struct dwfl_source *source, struct symtab **ret);
struct symtab *symtab_free(struct symtab *t);

/* Copy what is needed of the file, and let go of it. 0 or -ENOMEM. */
int symtab_detach(struct symtab *t);

/*
 * The function that an address of the file lies in: its name as the linker has it, which
 * lives as long as the table, or until symtab_detach(). NULL if the address is in none.
 */
const char *symtab_find_symbol(const struct symtab *t, uint64_t address);

/* Where that function begins: 0 or -ENOENT. */
int symtab_find_start(const struct symtab *t, uint64_t address, uint64_t *ret);

#endif
