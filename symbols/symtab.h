/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_SYMTAB_H
#define DP_SYMBOLS_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

/*
 * The functions of one ELF file by address, from its most complete symbol table that libdwfl finds:
 * .symtab, that of a separate debug file on this machine, .gnu_debugdata or .dynsym. A function
 * without a size ends at the next one or where unwind information says; without that, in a stripped
 * file, at a return followed by padding.
 */
struct symtab;
struct dwfl_source;

/*
 * Reads the functions of a file (dwfl_file.h). Returns 0 or a negative errno: -ECANCELED after
 * names_disable(), -E2BIG if the symbols would take too much memory: more than max_memory bytes
 * (symtab_memory()), or than decompressed.h allows. A file without symbols is no error.
 */
int symtab_new(const struct dwfl_source *source, uint64_t max_memory, struct symtab **ret);
struct symtab *symtab_free(struct symtab *t);

/* The approximate memory in bytes of the functions and, once they are copied, their names. */
uint64_t symtab_memory(const struct symtab *t);

/* Copies what is needed so that the file can be closed. 0 or -ENOMEM. */
int symtab_detach(struct symtab *t);

/*
 * The symbol of the function at an address of the file, as in the symbol table. It lives as long as
 * the table, or until symtab_detach(). NULL: there is none.
 */
const char *symtab_find_symbol(const struct symtab *t, uint64_t address);

/* The start of that function. 0 or -ENOENT. */
int symtab_find_start(const struct symtab *t, uint64_t address, uint64_t *ret);

#endif
