/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_TLS_H
#define DP_ELF_ELF_TLS_H

#include <stdint.h>

#include "elf/elf_file.h"

/* How code finds a thread-local variable (Drepper, "ELF Handling For Thread-Local Storage"). */
enum elf_tls_kind {
	ELF_TLS_NONE,
	ELF_TLS_OFFSET, /* at `value` from the thread's base: of a program, whose place the linker knows */
	ELF_TLS_SLOT,   /* the word at address `value` is that offset */
	ELF_TLS_MODULE, /* the words there are the module's number, and the offset in its block */
};

struct elf_tls {
	enum elf_tls_kind kind;
	uint64_t value; /* addresses: in the file's own address space */
};

/* Finds a thread-local variable that the file exports. NONE: it exports none of this name. */
void elf_tls_find(const struct elf_file *file, const char *name, struct elf_tls *ret);

/* Of the architecture: which of the last two a relocation's slot is for, or NONE; */
enum elf_tls_kind elf_tls_relocation(uint64_t type);
/* and where a variable of the program is, whose PT_TLS segment has this size and alignment. */
uint64_t elf_tls_program_offset(uint64_t address, uint64_t size, uint64_t align);

#endif
