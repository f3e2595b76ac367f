/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_FRAME_LISTS_H
#define DP_ELF_FRAME_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

/*
 * Where libgcc keeps what programs give to __register_frame(). These variables have no exported names, but
 * the exported function that takes frames off again refers to them, and to few others: whoever reads them has to
 * look whether they lead to such frames (process/frame_registry.h).
 */
#define N_FRAME_LISTS 8

struct frame_lists {
	uint64_t at
		[N_FRAME_LISTS]; /* addresses of words in writable memory; 0 behind the last one */
};

/* Of a file without that function, all are 0. */
void frame_lists_find(const struct elf_file *file, struct frame_lists *ret);

/*
 * The addresses of 8 bytes from `start` to `end`, exclusive, that code refers to. Returns their number, each
 * counted once. Bytes that are no instructions may look like one.
 */
size_t frame_lists_in_code(const uint8_t *code, size_t size, uint64_t address, uint64_t start,
			   uint64_t end, uint64_t ret[N_FRAME_LISTS]);

#endif
