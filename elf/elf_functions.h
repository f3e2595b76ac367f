/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_FUNCTIONS_H
#define DP_ELF_ELF_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

struct elf_function {
	const char *symbol; /* lives as long as the call */
	uint64_t offset;    /* where it begins in the file */
	uint64_t size;      /* 0: it is not told */
	/*
	 * Of a local symbol, the number of its compilation unit, as the table's symbols of files (STT_FILE) tell
	 * them apart, from 1; 0: the symbol is that of all units.
	 */
	uint64_t unit;
};

/*
 * Called with each function in the symbol tables of an ELF file. It may have several symbols, and be in
 * both tables. Nonzero ends the search.
 */
typedef int (*elf_function_fn)(void *arg, const struct elf_function *function);

/*
 * Functions of the file behind fd, which the caller keeps: those of .symtab, and those that a
 * stripped file exports too; only the first table of each kind counts. Returns 0, the first nonzero
 * result of fn, -ENOEXEC if it is no ELF file, or -EFBIG if its names are too long altogether.
 */
int elf_functions_each(int fd, elf_function_fn fn, void *arg);

/*
 * Makes addresses of code offsets in the file behind fd. Those where it has no code are left out of *n. 0 or
 * -ENOEXEC.
 */
int elf_functions_locate(int fd, uint64_t *addresses, size_t *n);

#endif
