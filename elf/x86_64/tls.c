// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include "elf/elf_tls.h"

enum dp_tls_kind elf_tls_relocation(uint64_t type)
{
	switch (type) {
	case R_X86_64_TPOFF64:
		return DP_TLS_SLOT;
	case R_X86_64_DTPMOD64:
		return DP_TLS_MODULE;
	case R_X86_64_TLSDESC:
		return DP_TLS_DESCRIPTOR;
	default:
		return DP_TLS_NONE;
	}
}

/* Variant II: the program's block ends at the thread's base. */
uint64_t elf_tls_program_offset(uint64_t address, uint64_t size, uint64_t align)
{
	align = align > 0 ? align : 1;
	return address - (size + align - 1) / align * align;
}
