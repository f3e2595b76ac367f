/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_CODE_SEARCH_H
#define DP_ELF_CODE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"

/*
 * Finds functions by constants in their code, in files without symbols. Their bounds come from unwind information.
 * A constant matches unrelated bytes about once in 2^32.
 */

/* Called with a function; end is exclusive. Nonzero ends the search, and is its result. */
typedef int (*code_function_fn)(void *arg, uint64_t start, uint64_t end);

/* Whether a function has a constant, or one that differs only in the bits of `ignored`. */
bool code_has(const struct elf_file *file, uint64_t start, uint64_t end, uint32_t constant,
	      uint32_t ignored);

/* Calls fn with each that has. 0, fn's first nonzero result, or an error of cfi_index_init(). */
int code_each_with(const struct elf_file *file, uint32_t constant, uint32_t ignored,
		   code_function_fn fn, void *arg);

/*
 * The only function that calls an address directly, besides itself. 0, -ENOENT if there is none,
 * -EMLINK if there are several, or an error of cfi_index_init().
 */
int code_find_caller(const struct elf_file *file, uint64_t address, uint64_t *ret_start,
		     uint64_t *ret_end);

/* Of the architecture: whether code, which is at `address`, calls another one directly. */
bool code_calls(const uint8_t *code, uint64_t size, uint64_t address, uint64_t to);

#endif
