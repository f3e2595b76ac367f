/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_FUNCTION_STARTS_H
#define DP_SYMBOLS_FUNCTION_STARTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The ranges of the functions of one ELF file according to .eh_frame, which remains in stripped
 * files. A part of a function that the compiler has moved elsewhere, such as to `.text.unlikely`,
 * counts as a function. Addresses are those of the file's own address space.
 */
struct function_starts;

/*
 * Reads the file behind fd or, if fd is negative, size bytes of memory; neither is needed
 * afterwards. Returns 0, -ENODATA if it has no .eh_frame, or another negative errno.
 */
int function_starts_new(int fd, const void *memory, size_t size, struct function_starts **ret);
struct function_starts *function_starts_free(struct function_starts *s);

/* The range of the function that contains an address: [*ret_start, *ret_end). 0 or -ENOENT. */
int function_starts_find(const struct function_starts *s, uint64_t address, uint64_t *ret_start,
			 uint64_t *ret_end);

/* The start of the first function above an address; UINT64_MAX: there is none. */
uint64_t function_starts_next(const struct function_starts *s, uint64_t address);

#endif
