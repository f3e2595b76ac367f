/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_FACTS_H
#define DP_ELF_ELF_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

/*
 * What stays known of an ELF file when it is closed (elf_file.h): plain values, which lead
 * neither to the file nor to memory that it is mapped to. All that they have is their own, so
 * that one thread may find them and another one use them.
 */

/* Where code lies, whose bytes the file has. */
struct elf_code {
	uint64_t address, size;
	uint64_t offset; /* in the file */
};

struct elf_facts {
	struct elf_segment *segments; /* PT_LOADs, in the file's order */
	size_t n_segments;
	struct elf_code *code; /* by address */
	size_t n_code;
	char build_id[ELF_BUILD_ID_SIZE]; /* "" if there is none */
	uint64_t cookie, cookie_address;  /* as in struct elf_file */
	uint64_t go_start, go_end;        /* as in struct elf_file */
	char packer[8];                   /* who has packed it (packed.h), "" if nobody has */
};

/* Copy them from a file that is open. 0 or -ENOMEM. elf_facts_done() releases *ret. */
int elf_facts_init(struct elf_facts *ret, const struct elf_file *file);
void elf_facts_done(struct elf_facts *facts);

/*
 * The difference between an address in a process and in the file, for a
 * mapping at `start` of the file's bytes from `offset` on. -ENOENT if no
 * segment of the file lies there.
 */
int elf_facts_bias(const struct elf_facts *facts, uint64_t start, uint64_t offset, uint64_t *ret);

/*
 * Where in the file the code lies that ends at an address, up to so many bytes: *ret_n of them,
 * fewer if its section begins there. -ENOENT if the file has no code there.
 */
int elf_facts_code_before(const struct elf_facts *facts, uint64_t end, size_t size,
			  uint64_t *ret_offset, size_t *ret_n);

#endif
