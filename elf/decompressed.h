/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_DECOMPRESSED_H
#define DP_ELF_DECOMPRESSED_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Checks the decompressed size of parts of an ELF file before libdw and libelf decompress them,
 * since a few bytes can expand to exhaust the memory. A file over a limit is treated as if it had
 * no symbols or no debug information. These take libelf's handle because it decides what is
 * decompressed: whoever opened the file with libdw or libelf asks before going on.
 */

/* Whether symbol tables may be read, except the one in .gnu_debugdata. */
bool decompressed_symbols_fit(Elf *elf);
/* Whether .gnu_debugdata, a compressed ELF file with a symbol table, may be read. */
bool decompressed_debugdata_fits(Elf *elf);
/* Whether debug sections may be read. */
bool decompressed_debug_fits(Elf *elf);

#endif
