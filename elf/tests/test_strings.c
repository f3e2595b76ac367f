// SPDX-License-Identifier: Apache-2.0
/* Strings in sections, which may be compressed. */
#include "base/elf_string.h"

#include <criterion/criterion.h>
#include <string.h>
#include <zlib.h>

#include "elf/elf_open.h"

static const char strings[] = "\0.first\0.second";

/* A file with one section, which has the strings. */
struct file {
	Elf64_Ehdr header;
	Elf64_Shdr sections[2];
	Elf64_Chdr compressed;
	unsigned char bytes[256];
};

static Elf *open_file(struct file *file, bool is_compressed)
{
	uLongf size = sizeof(file->bytes);
	Elf *elf;

	*file = (struct file){
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_shoff = offsetof(struct file, sections),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 2,
			.e_shstrndx = 1,
		},
		.sections[1] = { .sh_type = SHT_STRTAB, .sh_addralign = 8 },
		.compressed = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = sizeof(strings), .ch_addralign = 1 },
	};
	if (is_compressed) {
		cr_assert_eq(compress(file->bytes, &size, (const Bytef *)strings, sizeof(strings)),
			     Z_OK);
		file->sections[1].sh_flags = SHF_COMPRESSED;
		file->sections[1].sh_offset = offsetof(struct file, compressed);
		file->sections[1].sh_size = sizeof(file->compressed) + size;
	} else {
		memcpy(file->bytes, strings, sizeof(strings));
		file->sections[1].sh_offset = offsetof(struct file, bytes);
		file->sections[1].sh_size = sizeof(strings);
	}
	elf = elf_open_memory(file, sizeof(*file));
	cr_assert(elf);
	return elf;
}

Test(elf_string, is_that_of_libelf)
{
	struct file file;
	Elf *elf = open_file(&file, false);

	cr_expect_str_eq(elf_string(elf, 1, 1), ".first");
	cr_expect_str_eq(elf_string(elf, 1, 8), ".second");
	cr_expect_null(elf_string(elf, 1, sizeof(strings)));
	cr_expect_null(elf_string(elf, 0, 1));
	cr_expect_null(elf_string(elf, 2, 1));
	elf_end(elf);
}

/* libelf would decompress it. */
Test(elf_string, is_not_decompressed)
{
	struct file file;
	Elf *elf = open_file(&file, true);

	cr_expect_null(elf_string(elf, 1, 1));
	cr_assert_str_eq(elf_strptr(elf, 1, 1), ".first");
	elf_end(elf);
}
