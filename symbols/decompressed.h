/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DECOMPRESSED_H
#define DP_SYMBOLS_DECOMPRESSED_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * How large the compressed parts of an ELF file become, looked at before libdw and libelf
 * decompress them: a few bytes can stand for ones that fill any memory. A file over a limit
 * is one without symbols, or without debug information.
 */

/* Symbol tables and their strings, and, of each file, .gnu_debugdata. */
#define DECOMPRESSED_SYMBOLS_MAX (UINT64_C(256) << 20)
/* Debug sections, all of which libdw decompresses at once. */
#define DECOMPRESSED_DEBUG_MAX (UINT64_C(2) << 30)
/*
 * And of a file that is large itself: debug information shrinks to a fifth or so, a byte of
 * zlib's can stand for a thousand. So much of it is let pass unasked.
 */
#define DECOMPRESSED_DEBUG_RATIO 32
#define DECOMPRESSED_DEBUG_FREE (UINT64_C(64) << 20)

/* Whether the tables of symbols may be read, other than that in .gnu_debugdata. */
bool decompressed_symbols_fit(Elf *elf);
/* Whether .gnu_debugdata may be read, a compressed ELF file with a table of symbols. */
bool decompressed_debugdata_fits(Elf *elf);
/* Whether debug sections may be read. */
bool decompressed_debug_fits(Elf *elf);

#endif
