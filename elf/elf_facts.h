/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_FACTS_H
#define DP_ELF_ELF_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "elf/frame_lists.h"
#include "elf/vm_structs.h"

/*
 * Facts about an ELF file that remain after it is closed (elf_file.h): plain values that refer
 * neither to the file nor to memory mapped from it. They own everything, so one thread may collect
 * them and another one use them.
 */

/* A range of code with bytes in the file. */
struct elf_code {
	uint64_t address, size;
	uint64_t offset; /* in the file */
};

/* A section with unwind information. */
struct elf_unwind {
	uint64_t source;        /* enum elf_source */
	uint64_t address, size; /* size 0: there is none */
};

/* What its table is made of (tables/image.h): one that was kept is valid for the same. */
struct elf_origin {
	char build_id[ELF_BUILD_ID_SIZE]; /* "" if there is none */
	struct elf_unwind unwind;
	uint64_t go_size;           /* of Go's own table */
	uint64_t start, end, entry; /* of code, as in struct image_input */
};

struct elf_facts {
	struct elf_segment *segments; /* PT_LOADs, in file order */
	size_t n_segments;
	struct elf_code *code; /* by address */
	size_t n_code;
	struct elf_origin origin;
	uint64_t cookie, cookie_address; /* as in struct elf_file */
	uint64_t go_start, go_end;       /* as in struct elf_file */
	struct vm_structs vm;            /* of a JVM */
	uint64_t jit_descriptor; /* where its compiler lists its code for GDB; 0: it does not */
	struct frame_lists frame_lists; /* of a libgcc */
	uint64_t asyncio; /* where it publishes how to find asyncio's tasks; 0: it does not */
	char packer[8];   /* the packer's name (packed.h); "" if it is not packed */
};

/* Copies them from an open file. 0 or -ENOMEM. elf_facts_done() frees *ret. */
int elf_facts_init(struct elf_facts *ret, const struct elf_file *file);
void elf_facts_done(struct elf_facts *facts);

/*
 * The bias (address in the process minus address in the file) of a mapping at `start` of the file
 * from `offset` on. -ENOENT if no segment of the file is there.
 */
int elf_facts_bias(const struct elf_facts *facts, uint64_t start, uint64_t offset, uint64_t *ret);

/* True if a mapping of the file from `offset` on has code from the start of a segment on. */
bool elf_facts_begin_code(const struct elf_facts *facts, uint64_t offset);

/*
 * Finds the up to `size` bytes of code that end at an address: their offset in the file and number
 * *ret_n, which is smaller if the section begins in between. -ENOENT if there is no code.
 */
int elf_facts_code_before(const struct elf_facts *facts, uint64_t end, size_t size,
			  uint64_t *ret_offset, size_t *ret_n);

#endif
