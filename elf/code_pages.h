/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_CODE_PAGES_H
#define DP_ELF_CODE_PAGES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The pages of an executable segment as the kernel maps them: in the ELF file's own address space,
 * and in the file.
 */
struct code_pages {
	uint64_t start, limit;
	uint64_t offset; /* of start, in the file */
};

struct elf_segment;

/* Those of a file's segments (struct elf_facts). Otherwise as code_pages_read(). */
int code_pages_of(const struct elf_segment *segments, size_t n, struct code_pages **ret,
		  size_t *ret_n);

/*
 * Reads those of the file behind fd, which the caller keeps, or, if fd is negative, of size bytes of
 * memory. The caller frees *ret. Returns 0, -ENOEXEC if it is no ELF file or has no such segment, or
 * -ENOMEM.
 */
int code_pages_read(int fd, const void *memory, size_t size, struct code_pages **ret,
		    size_t *ret_n);

#endif
