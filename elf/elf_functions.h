/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_FUNCTIONS_H
#define DP_ELF_ELF_FUNCTIONS_H

#include <stdint.h>

/*
 * Called with each function in the symbol tables of an ELF file: its symbol, which lives as long as
 * the call, where it begins in the file, and its size, 0 if that is not told. A function may have several
 * symbols, and be in both tables. Nonzero ends the search.
 */
typedef int (*elf_function_fn)(void *arg, const char *symbol, uint64_t offset, uint64_t size);

/*
 * Functions of the file behind fd, which the caller keeps: those of .symtab, and those that a
 * stripped file exports too; only the first table of each kind counts. Returns 0, the first nonzero
 * result of fn, -ENOEXEC if it is no ELF file, or -EFBIG if its names are too long altogether.
 */
int elf_functions_each(int fd, elf_function_fn fn, void *arg);

#endif
