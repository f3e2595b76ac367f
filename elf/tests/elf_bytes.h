/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_TESTS_ELF_BYTES_H
#define DP_ELF_TESTS_ELF_BYTES_H

#include <elf.h>

/* The header of an ELF file that is directly followed by its program headers or section headers. */
static inline Elf64_Ehdr elf_header(size_t n_segments, size_t n_sections)
{
	return (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = n_segments > 0 ? sizeof(Elf64_Ehdr) : 0,
		.e_shoff = n_sections > 0 ? sizeof(Elf64_Ehdr) : 0,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (Elf64_Half)n_segments,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (Elf64_Half)n_sections,
		.e_shstrndx = n_sections > 0 ? (Elf64_Half)(n_sections - 1) : SHN_UNDEF,
	};
}

#endif
