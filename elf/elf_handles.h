/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_HANDLES_H
#define DP_ELF_ELF_HANDLES_H

#include <libelf.h>

/* Libelf's handles of a struct elf_file; for this folder only. */
struct elf_handles {
	Elf *elf, *debug; /* debug: the separate debug file, or NULL */
};

#endif
