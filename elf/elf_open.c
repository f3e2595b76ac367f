// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_open.h"

/* libelf also opens archives, and anything else as "unknown". */
static Elf *take_elf(Elf *elf)
{
	if (elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	return NULL;
}

Elf *elf_open(int fd)
{
	elf_version(EV_CURRENT);
	return take_elf(elf_begin(fd, ELF_C_READ_MMAP, NULL));
}

Elf *elf_open_again(Elf *elf)
{
	return elf_begin(-1, ELF_C_READ_MMAP, elf);
}

Elf *elf_open_unmapped(int fd)
{
	elf_version(EV_CURRENT);
	return take_elf(elf_begin(fd, ELF_C_READ, NULL));
}

Elf *elf_open_memory(const void *bytes, size_t size)
{
	elf_version(EV_CURRENT);
	/* The parameter lacks `const`; elf_memory() opens the file for reading (ELF_C_READ). */
	return take_elf(elf_memory((char *)bytes, size));
}
