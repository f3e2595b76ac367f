/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_ELF_STRING_H
#define DP_BASE_ELF_STRING_H

#include <gelf.h>
#include <stddef.h>

/*
 * A string in a section of strings, as elf_strptr() returns it; NULL: there is none. That one
 * decompresses the whole section first, and a few bytes may become any number. No linker compresses
 * strings, so a compressed section has none here.
 */
static inline const char *elf_string(Elf *elf, size_t section, size_t offset)
{
	GElf_Shdr header;

	if (!gelf_getshdr(elf_getscn(elf, section), &header) || (header.sh_flags & SHF_COMPRESSED))
		return NULL;
	return elf_strptr(elf, section, offset);
}

#endif
