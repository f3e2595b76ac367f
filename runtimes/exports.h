/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_EXPORTS_H
#define DP_RUNTIMES_EXPORTS_H

#include <stddef.h>

#include "elf/elf_file.h"
#include "elf/elf_symbols.h"
#include "bpf/abi.h"

/* Finds n symbols that the file exports, by their names; address 0: it does not export that one. */
void exports_find(const struct elf_file *file, const char *const *names, size_t n,
		  struct elf_symbol *ret);

/*
 * Fills the ranges of evaluation loops: the function of this name, and the pieces that a compiler may
 * have cut from it, as NAME.cold. -ENOTSUP: the file has no such symbol.
 */
int exports_find_loop(const struct elf_file *file, const char *name,
		      struct dp_runtime_range ret[DP_RUNTIME_RANGES]);

/* Sets where a thread-local variable that the file exports is. -ENOENT: it exports none. */
int exports_find_variable(const struct elf_file *file, const char *name, struct dp_chain *ret);

#endif
