/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_FUNCTION_STARTS_H
#define DP_SYMBOLS_FUNCTION_STARTS_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where the functions of one ELF file are, by its .eh_frame, which stripped files keep. A part of a
 * function that the compiler has moved elsewhere, as to `.text.unlikely`, counts as a function.
 * Addresses are those of the file's own address space.
 */
struct function_starts;

/* Functions, at most; of a file with more, the first ones are known. */
#define FUNCTION_STARTS_MAX ((size_t)4 << 20)

/* A larger .eh_frame is of no program, and its index would take more memory than names are worth. */
#define FUNCTION_STARTS_SECTION_MAX ((uint64_t)256 << 20)

/*
 * Of the file behind fd, or if fd is negative, of size bytes of memory: only while it is read.
 * Returns 0, -ENODATA: it has no .eh_frame, or another negative errno.
 */
int function_starts_new(int fd, const void *memory, size_t size, struct function_starts **ret);
/* The same, of a file that is open. */
int function_starts_new_elf(Elf *elf, struct function_starts **ret);
struct function_starts *function_starts_free(struct function_starts *s);

/* The function that an address is in, as [*ret_start, *ret_end). 0 or -ENOENT. */
int function_starts_find(const struct function_starts *s, uint64_t address, uint64_t *ret_start,
			 uint64_t *ret_end);

/* Where the first function above an address begins; UINT64_MAX: there is none. */
uint64_t function_starts_next(const struct function_starts *s, uint64_t address);

#endif
