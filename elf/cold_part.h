/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_COLD_PART_H
#define DP_ELF_COLD_PART_H

#include "elf/elf_file.h"

/*
 * Finds the cold part of a function (NAME.cold) in a file without its symbol: the function, from start to its
 * exclusive end, jumps there, and the part has unwind information of its own, whose first row is not that of a
 * function's entry. 0, -ENOENT if there is none, or an error of cfi_index_init().
 */
int cold_part_find(const struct elf_file *file, uint64_t start, uint64_t end, uint64_t *ret_start,
		   uint64_t *ret_end);

#endif
