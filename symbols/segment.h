/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_SEGMENT_H
#define DP_SYMBOLS_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Where code of an ELF file is, in whole pages, as the kernel maps it: in its own
 * address space, and in the file.
 */
struct segment {
	uint64_t start, limit;
	uint64_t offset; /* of the start, in the file */
};

/*
 * The executable segments of the file behind fd (which stays the caller's), or, if fd
 * is negative, of size bytes of memory. The caller frees *ret. Returns 0, -ENOEXEC for
 * what is no ELF file or has none, or -ENOMEM.
 */
int segments_read(int fd, const void *memory, size_t size, struct segment **ret, size_t *ret_n);

#endif
