/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_SYMBOLS_H
#define DP_ELF_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"

/* A function or variable that an ELF file defines. */
struct elf_symbol {
	const char *name; /* lives as long as the call that has it */
	uint64_t address; /* in the file's own address space */
	uint64_t size;    /* 0: not known */
	bool is_function;
};

/* Called with each symbol. Nonzero ends the search, and is its result; so it is below. */
typedef int (*elf_symbol_fn)(void *arg, const struct elf_symbol *symbol);

/*
 * The symbols that the file exports, or if `local` those of its full symbol table, which many do not
 * have. Bounded by the file's size. 0, or the first nonzero result of fn.
 */
int elf_symbols_each(const struct elf_file *file, bool local, elf_symbol_fn fn, void *arg);

/*
 * The address of a variable of that size that the file exports, or else has in its full symbol table, of whose
 * many symbols only those of this size have their names read. 0: there is none.
 */
uint64_t elf_symbols_find_variable(const struct elf_file *file, const char *name, uint64_t size);

/* The address of a section of this name and size that is in memory. 0: there is none. */
uint64_t elf_find_section(const struct elf_file *file, const char *wanted, uint64_t size);

/*
 * The `size` bytes at an address of the file, as it is before it is relocated; NULL if the file does
 * not have them. They live as long as the file.
 */
const void *elf_bytes_at(const struct elf_file *file, uint64_t address, uint64_t size);

/* Where in the file the byte at an address is. False: nowhere. */
bool elf_offset_of(const struct elf_file *file, uint64_t address, uint64_t *ret);

#endif
