/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_COLD_PART_H
#define DP_ELF_COLD_PART_H

#include "elf/elf_file.h"

/*
 * Finds the part of a function that a compiler has put elsewhere (NAME.cold), in a file without its symbol: the
 * function, from start to its exclusive end, jumps there, and there is unwind information of its own, which does not
 * begin as that of a function does. 0, -ENOENT if there is none, or an error of cfi_index_init().
 */
int cold_part_find(const struct elf_file *file, uint64_t start, uint64_t end, uint64_t *ret_start,
		   uint64_t *ret_end);

#endif
