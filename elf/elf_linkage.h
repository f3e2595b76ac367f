/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_LINKAGE_H
#define DP_ELF_ELF_LINKAGE_H

#include <stddef.h>
#include <stdint.h>

/*
 * How code of an ELF file calls functions whose addresses only the dynamic linker knows: stubs, the
 * slots that they jump through, and the relocations that fill these (gABI, "Relocation"). Values
 * are the file's and unchecked, but for their number: sections that overlap are not read without end.
 * Bytes and strings live as long as the object.
 */
struct elf_linkage;

/*
 * Opens the file behind fd, which the caller keeps until elf_linkage_free(), or if fd is negative,
 * size bytes of memory. 0, -ENOMEM, or -ENODATA if it is no ELF file with sections.
 */
int elf_linkage_new(int fd, const void *memory, size_t size, struct elf_linkage **ret);
/* NULL is allowed. Returns NULL. */
struct elf_linkage *elf_linkage_free(struct elf_linkage *linkage);

/* A section of stubs: .plt, .plt.sec, .plt.got. */
struct elf_stubs {
	uint64_t address, size;
	const uint8_t *code;
	uint64_t entry_size, align; /* in its header; linkers leave out the former */
};

/* Called with each section of stubs. Nonzero ends the search, and is its result; so it is below. */
typedef int (*elf_stubs_fn)(void *arg, const struct elf_stubs *stubs);
int elf_linkage_each_stubs(struct elf_linkage *linkage, elf_stubs_fn fn, void *arg);

/* The slot of a relocation in .rela.plt, by its number there; 0: there is none. */
uint64_t elf_linkage_slot(struct elf_linkage *linkage, uint64_t number);

struct elf_relocation {
	uint64_t slot; /* address that it writes to */
	uint64_t type; /* R_X86_64_JUMP_SLOT and others of the psABI */
	uint64_t addend;
	const struct elf_relocations *table; /* private, as is symbol */
	uint64_t symbol;
};

/* Called with each relocation that the dynamic linker applies. */
typedef int (*elf_relocation_fn)(void *arg, const struct elf_relocation *relocation);
int elf_linkage_each_relocation(struct elf_linkage *linkage, elf_relocation_fn fn, void *arg);

/* The symbol of a relocation, during the call that has it; "": none. */
const char *elf_relocation_symbol(const struct elf_relocation *relocation);

/* Called with each function that chooses another (STT_GNU_IFUNC): its symbol and address. */
typedef int (*elf_resolver_fn)(void *arg, const char *symbol, uint64_t address);
int elf_linkage_each_resolver(struct elf_linkage *linkage, elf_resolver_fn fn, void *arg);

#endif
