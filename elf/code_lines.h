/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_CODE_LINES_H
#define DP_ELF_CODE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "tables/disassembly.h"

/* No more are read at once. */
#define CODE_LINES_MAX 16384

/*
 * Disassembles the code of a file at the addresses from `start` up to `end`: at least one
 * instruction and at most CODE_LINES_MAX. Where one reads or writes a variable that the file has a symbol for,
 * the symbol's name follows. The caller frees *ret. 0; -ENODATA: there is no code; or -ENOMEM.
 */
int code_lines_read(const struct elf_file *file, uint64_t start, uint64_t end,
		    struct code_line **ret, size_t *ret_n);

#endif
