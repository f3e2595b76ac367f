/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_TLS_H
#define DP_ELF_ELF_TLS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "elf/elf_file.h"

/*
 * Finds a thread-local variable that the file exports, or that a static program has. Kind NONE: there
 * is none of this name, or code of the file does not use it.
 */
void elf_tls_find(const struct elf_file *file, const char *name, struct dp_tls *ret);

/*
 * Of the architecture: whether some code, which is at `address` of its file, returns a member of
 * what a thread-local variable leads to, and nothing else; and where the variable is. It need not
 * have a name.
 */
bool elf_tls_returned(const uint8_t *code, uint64_t size, uint64_t address, uint8_t member,
		      struct dp_tls *ret);

/* Of the architecture: what a relocation's slot is for, or NONE; */
enum dp_tls_kind elf_tls_relocation(uint64_t type);
/* and where a variable of the program is, whose PT_TLS segment has this size and alignment. */
uint64_t elf_tls_program_offset(uint64_t address, uint64_t size, uint64_t align);

#endif
