// SPDX-License-Identifier: Apache-2.0
/* What compilers tell GDB about code in memory. */
#include "elf/jit_object.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "elf/elf_symbols.h"
#include "elf/tests/elf_bytes.h"
#include "limits/limits.h"

#define CODE 0x7f0000001000
/* Too far away for 32 bits. */
#define FRAMES 0x550000080000

enum { NONE, TEXT, EH_FRAME, RELOCATIONS, SYMTAB, STRINGS, N_SECTIONS };

/* As LLVM has them: an object file whose headers have addresses. */
struct object {
	Elf64_Ehdr header;
	Elf64_Shdr sections[N_SECTIONS];
	uint8_t text[16];
	uint8_t frames[32];
	Elf64_Rela relocations[3];
	Elf64_Sym symbols[3];
	char strings[48];
};

static const char names[] = "\0.eh_frame\0first\0";

static Elf64_Shdr section(Elf64_Word type, size_t offset, size_t size, Elf64_Addr address)
{
	return (Elf64_Shdr){
		.sh_type = type, .sh_offset = offset, .sh_size = size, .sh_addr = address
	};
}

static struct object make(void)
{
	struct object o = { .header = elf_header(0, N_SECTIONS) };

	o.header.e_type = ET_REL;
	o.sections[TEXT] =
		section(SHT_PROGBITS, offsetof(struct object, text), sizeof(o.text), CODE);
	o.sections[TEXT].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	o.sections[EH_FRAME] =
		section(SHT_PROGBITS, offsetof(struct object, frames), sizeof(o.frames), FRAMES);
	o.sections[EH_FRAME].sh_name = 1;
	o.sections[EH_FRAME].sh_flags = SHF_ALLOC;
	o.sections[RELOCATIONS] =
		section(SHT_RELA, offsetof(struct object, relocations), sizeof(o.relocations), 0);
	o.sections[RELOCATIONS].sh_link = SYMTAB;
	o.sections[RELOCATIONS].sh_info = EH_FRAME;
	o.sections[RELOCATIONS].sh_entsize = sizeof(Elf64_Rela);
	o.sections[SYMTAB] =
		section(SHT_SYMTAB, offsetof(struct object, symbols), sizeof(o.symbols), 0);
	o.sections[SYMTAB].sh_link = STRINGS;
	o.sections[SYMTAB].sh_entsize = sizeof(Elf64_Sym);
	o.sections[STRINGS] =
		section(SHT_STRTAB, offsetof(struct object, strings), sizeof(o.strings), 0);
	memcpy(o.strings, names, sizeof(names));
	o.symbols[1] =
		(Elf64_Sym){ .st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = TEXT };
	o.symbols[2] = (Elf64_Sym){ .st_name = 11,
				    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				    .st_shndx = TEXT,
				    .st_value = 4,
				    .st_size = 8 };
	o.relocations[0] = (Elf64_Rela){ 8, ELF64_R_INFO(1, R_X86_64_PC32), 4 };
	o.relocations[1] = (Elf64_Rela){ 16, ELF64_R_INFO(2, R_X86_64_64), 1 };
	o.relocations[2] = (Elf64_Rela){ 24, ELF64_R_INFO(1, R_X86_64_PC64), 0 };
	return o;
}

static int link_it(const struct object *o, uint8_t **ret, size_t *ret_size)
{
	return jit_object_link((const uint8_t *)o, sizeof(*o), ret, ret_size);
}

static int note(void *arg, const struct elf_symbol *symbol)
{
	*(struct elf_symbol *)arg = *symbol;
	return strcmp(symbol->name, "first") == 0;
}

Test(jit_object, becomes_a_program)
{
	struct object o = make();
	struct elf_symbol symbol;
	struct elf_file file;
	uint64_t word;
	uint8_t *linked;
	size_t size;

	cr_assert_eq(link_it(&o, &linked, &size), 0);
	cr_assert_eq(elf_file_init_memory(&file, linked, size), 0);
	cr_expect_eq(file.n_segments, 1);
	cr_expect_eq(file.segments[0].address, CODE);
	cr_expect_eq(file.segments[0].memory_size, sizeof(o.text));
	cr_expect(file.segments[0].executable);
	cr_expect_eq(file.code.start, CODE);
	cr_expect_eq(elf_symbols_each(&file, true, note, &symbol), 1);
	cr_expect_eq(symbol.address, CODE + 4);
	cr_assert_eq(file.cfi.size, sizeof(o.frames));
	memcpy(&word, file.cfi.data + 8, 4);
	cr_expect_eq((uint32_t)word, (uint32_t)(CODE + 4 - (file.cfi.address + 8)));
	cr_expect_eq(file.cfi.address + 8 + (uint64_t)(int64_t)(int32_t)word, CODE + 4);
	memcpy(&word, file.cfi.data + 16, 8);
	cr_expect_eq(word, CODE + 5);
	memcpy(&word, file.cfi.data + 24, 8);
	cr_expect_eq(word, (uint64_t)CODE - (file.cfi.address + 24));
	elf_file_done(&file);
	free(linked);
}

Test(jit_object, code_without_bytes_has_a_place)
{
	struct object o = make();
	struct elf_file file;
	uint8_t *linked;
	size_t size;

	/* Some have no copy of the code, and some are programs already, with all relocations applied. */
	o.header.e_type = ET_EXEC;
	o.sections[TEXT].sh_type = SHT_NOBITS;
	o.sections[TEXT].sh_offset = sizeof(o) * 2;
	o.symbols[2].st_value += CODE;
	cr_assert_eq(link_it(&o, &linked, &size), 0);
	cr_assert_eq(elf_file_init_memory(&file, linked, size), 0);
	cr_expect_eq(file.segments[0].address, CODE);
	cr_expect_eq(file.segments[0].file_size, 0);
	cr_expect_eq(file.segments[0].memory_size, sizeof(o.text));
	cr_expect_eq(memcmp(file.cfi.data, o.frames, sizeof(o.frames)), 0, "it was relocated");
	elf_file_done(&file);
	free(linked);
}

static int link_frames(const struct object *o, struct elf_file *file, uint8_t **ret)
{
	size_t size;
	int err = link_it(o, ret, &size);

	return err < 0 ? err : elf_file_init_memory(file, *ret, size);
}

Test(jit_object, frames_move_only_if_they_are_relocated)
{
	struct object o = make();
	struct elf_file file;
	uint8_t *linked;

	o.sections[RELOCATIONS].sh_info = SYMTAB;
	cr_assert_eq(link_frames(&o, &file, &linked), 0);
	cr_expect_eq(file.cfi.address, FRAMES);
	elf_file_done(&file);
	free(linked);
	o.sections[EH_FRAME].sh_addr = 0;
	cr_assert_eq(link_frames(&o, &file, &linked), 0);
	cr_expect_eq(file.cfi.address, CODE);
	elf_file_done(&file);
	free(linked);
}

Test(jit_object, what_does_not_fit_is_no_description)
{
	static const struct {
		uint32_t type;
		uint64_t addend;
		bool fits;
	} cases[] = {
		{ R_X86_64_PC32, 0, true },
		{ R_X86_64_PC32, 0x7fffffff, true },
		{ R_X86_64_PC32, 0x80000008, false },
		{ R_X86_64_PLT32, 0x80000008, false },
		{ R_X86_64_PC32, -(uint64_t)0x80000008, false },
		{ R_X86_64_32, 0, false },
		{ R_X86_64_32, -(uint64_t)CODE, true },
		{ R_X86_64_32, 0xffffffff - (uint64_t)CODE, true },
		{ R_X86_64_32, -(uint64_t)CODE - 1, false },
		{ R_X86_64_32S, -(uint64_t)CODE - 1, true },
		{ R_X86_64_32S, 0x80000000 - (uint64_t)CODE, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct object o = make();
		struct elf_file file;
		uint8_t *linked;
		int err;

		o.relocations[0].r_info = ELF64_R_INFO(1, cases[i].type);
		o.relocations[0].r_addend = (int64_t)cases[i].addend;
		err = link_frames(&o, &file, &linked);
		cr_assert_eq(err, 0);
		cr_expect_eq(file.cfi.size, cases[i].fits ? sizeof(o.frames) : 0, "case %zu", i);
		elf_file_done(&file);
		free(linked);
	}
}

/* A compiler may have copied it, as all sections, to some address. */
Test(jit_object, debug_information_refers_to_places_in_sections)
{
	struct object o = make();
	uint8_t *linked;
	uint32_t word;
	size_t size;

	o.sections[STRINGS].sh_addr = FRAMES;
	o.symbols[1].st_shndx = STRINGS;
	o.relocations[0] = (Elf64_Rela){ 8, ELF64_R_INFO(1, R_X86_64_32), 4 };
	cr_assert_eq(link_it(&o, &linked, &size), 0);
	memcpy(&word, linked + offsetof(struct object, frames) + 8, sizeof(word));
	cr_expect_eq(word, 4);
	free(linked);
}

static int error_of(const struct object *o)
{
	uint8_t *linked = NULL;
	size_t size = 0;
	int err = link_it(o, &linked, &size);

	free(linked);
	return err;
}

Test(jit_object, damage_is_refused)
{
	struct object o = make();

	cr_expect_eq(jit_object_link((const uint8_t *)&o, sizeof(o.header) - 1, NULL, NULL),
		     -ENOEXEC);
	o.header.e_ident[0] = 0;
	cr_expect_eq(error_of(&o), -ENOEXEC);
	o = make();
	o.header.e_machine = EM_PPC64;
	cr_expect_eq(error_of(&o), -ENOTSUP);
	o = make();
	o.header.e_type = ET_CORE;
	cr_expect_eq(error_of(&o), -ENOEXEC);
	o = make();
	o.header.e_shoff = sizeof(o);
	cr_expect_eq(error_of(&o), -EBADMSG);
	o = make();
	o.header.e_shoff = UINT64_MAX;
	cr_expect_eq(error_of(&o), -EBADMSG);
	o = make();
	o.header.e_shnum = JIT_OBJECT_MAX_SECTIONS + 1;
	cr_expect_eq(error_of(&o), -E2BIG);
	o = make();
	o.sections[TEXT].sh_addr = 0;
	cr_expect_eq(error_of(&o), -ENODATA);
	o = make();
	o.sections[TEXT].sh_size = UINT64_MAX;
	cr_expect_eq(error_of(&o), -EBADMSG);
	o = make();
	o.sections[RELOCATIONS].sh_size = UINT64_MAX;
	cr_expect_eq(error_of(&o), -EBADMSG);
}

/* They change nothing, but break nothing, either. */
Test(jit_object, what_leads_elsewhere_is_left_out)
{
	struct object o = make();

	o.relocations[0].r_info = ELF64_R_INFO(3, R_X86_64_64);
	o.relocations[1].r_offset = UINT64_MAX;
	o.relocations[2].r_offset = sizeof(o.frames) - 1;
	o.symbols[1].st_shndx = N_SECTIONS;
	cr_expect_eq(error_of(&o), 0);
	o.sections[EH_FRAME].sh_offset = UINT64_MAX;
	cr_expect_eq(error_of(&o), 0);
	o = make();
	o.sections[SYMTAB].sh_size = UINT64_MAX;
	cr_expect_eq(error_of(&o), 0);
	o = make();
	/* Its symbols and relocations are over its own headers. */
	o.sections[SYMTAB].sh_offset = offsetof(struct object, sections);
	o.sections[SYMTAB].sh_size = sizeof(o.sections);
	o.sections[EH_FRAME].sh_offset = offsetof(struct object, sections);
	o.sections[EH_FRAME].sh_size = sizeof(o.sections);
	cr_expect_eq(error_of(&o), 0);
}
