// SPDX-License-Identifier: Apache-2.0
/*
 * ELF files with only what Go's tables need: one segment, and the struct by which Go's runtime
 * finds its tables.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define ASSEMBLER_SIZE 8192
#include "base/array.h"
#include "base/cleanup.h"
#include "elf/go_program.h"
#include "elf/go_tables.h"
#include "go/go_location.h"
#include "go/tests/table.h"

/* What differs from file to file */
struct form {
	enum pclntab_layout layout;
	const char *section; /* name of the table's section; NULL: no sections */
	bool relocated;      /* addresses are in relocations only */
	bool no_module;
	bool no_data; /* the struct does not have its address */
	bool no_text; /* the table does not have the code's address */
};

static struct assembler elf;
static struct table made;
static Elf *opened;
static struct go_file file;

enum { N_HEADERS = 2, MODULE_WORDS = 64 };

static size_t put_zeros(size_t n)
{
	size_t at = elf.size;

	for (size_t i = 0; i < n; i++)
		put_u8(&elf, 0);
	return at;
}

static Elf64_Rela relocations[16];
static size_t n_relocations;

/* Writes a word that is an address; parameters are offsets in the file. */
static void set_address(const struct form *form, size_t at, uint64_t address)
{
	if (!form->relocated) {
		set_u64(&elf, at, address);
		return;
	}
	set_u64(&elf, at, 0);
	relocations[n_relocations++] = (Elf64_Rela){
		.r_offset = at,
		.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
		.r_addend = (int64_t)address,
	};
}

/* runtime/symtab.go, struct moduledata: in words */
static void put_module(const struct form *form, uint64_t table, uint64_t data)
{
	size_t at = put_zeros(MODULE_WORDS * 8);

	if (form->no_module)
		return;
	set_address(form, at, table);
	set_address(form, at + 8, table + made.names);
	set_address(form, at + 16 * 8, table + made.functions);
	set_u64(&elf, at + 17 * 8, N_FUNCTIONS + 1);
	set_address(form, at + 22 * 8, TEXT);
	set_address(form, at + 23 * 8, TEXT + 0x60);
	set_address(form, at + 39 * 8, table); /* the start of constants */
	if (form->layout != PCLNTAB_GO_1_16 && !form->no_data)
		set_address(form, at + 40 * 8, data);
}

/* In Go 1.16 the table has addresses: of functions, and of their data. */
static void relocate_table(const struct form *form, size_t table, uint64_t data)
{
	if (form->layout != PCLNTAB_GO_1_16)
		return;
	/* Behind the record, and three values of four bytes; aligned */
	set_address(form, ((table + made.records[0] + 44 + 12 + 7) & ~(size_t)7) + 24, data + 8);
	for (size_t i = 0; i <= N_FUNCTIONS; i++) {
		static const uint32_t starts[] = { 0, 0x40, 0x60 };

		set_address(form, table + made.functions + 16 * i, TEXT + starts[i]);
	}
}

static size_t put_sections(const struct form *form, size_t table)
{
	Elf64_Shdr headers[3] = { 0 };
	size_t names = elf.size, at;

	put_u8(&elf, 0);
	put_string(&elf, "names");
	put_string(&elf, form->section);
	align(&elf);
	at = elf.size;
	headers[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = names };
	headers[1].sh_size = at - names;
	headers[2] = (Elf64_Shdr){
		.sh_name = 7,
		.sh_type = SHT_PROGBITS,
		.sh_addr = table,
		.sh_offset = table,
		.sh_size = made.bytes.size,
	};
	put_bytes(&elf, headers, sizeof(headers));
	return at;
}

static void put_headers(const struct form *form, size_t dynamic, size_t sections)
{
	const Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_shoff = sections,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = N_HEADERS,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = form->section ? 3 : 0,
		.e_shstrndx = form->section ? 1 : 0,
	};
	const Elf64_Phdr segments[N_HEADERS] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_filesz = elf.size },
		{ .p_type = form->relocated ? PT_DYNAMIC : PT_NULL,
		  .p_flags = PF_R,
		  .p_offset = dynamic,
		  .p_vaddr = dynamic,
		  .p_filesz = 32 },
	};

	memcpy(elf.bytes, &header, sizeof(header));
	memcpy(elf.bytes + sizeof(header), segments, sizeof(segments));
}

static void make(const struct form *form)
{
	size_t table, data, dynamic, sections = 0;

	elf.size = n_relocations = 0;
	table_make(&made, form->layout);
	if (form->no_text)
		set_u64(&made.bytes, 24, 0);
	put_zeros(sizeof(Elf64_Ehdr) + N_HEADERS * sizeof(Elf64_Phdr));
	table = put_zeros(0);
	put_bytes(&elf, made.bytes.bytes, made.bytes.size);
	align(&elf);
	data = put_zeros(0);
	put_bytes(&elf, made.calls.bytes, made.calls.size);
	align(&elf);
	put_module(form, table, data);
	relocate_table(form, table, data);
	dynamic = put_zeros(32);
	set_u64(&elf, dynamic, DT_RELA), set_u64(&elf, dynamic + 8, elf.size);
	set_u64(&elf, dynamic + 16, DT_RELASZ);
	set_u64(&elf, dynamic + 24, n_relocations * sizeof(Elf64_Rela));
	put_bytes(&elf, relocations, n_relocations * sizeof(Elf64_Rela));
	if (form->section)
		sections = put_sections(form, table);
	put_headers(form, dynamic, sections);
}

static int open_file(size_t size)
{
	elf_version(EV_CURRENT);
	opened = elf_memory((char *)elf.bytes, size);
	cr_assert_not_null(opened);
	return go_tables_read(opened, &file);
}

static void close_file(void)
{
	go_file_done(&file);
	elf_end(opened);
}

/* The number of locations of the innermost address. */
static size_t n_locations(void)
{
	struct pclntab_function f;
	struct go_location locations[8];
	size_t n;

	cr_assert_eq(pclntab_find(&file.table, TEXT + 0x18, &f), 0);
	n = go_locations_find(&file, &f, TEXT + 0x18, true, locations, 8);
	cr_assert_str_eq(locations[n - 1].function, "main.outer");
	return n;
}

static void expect(const struct form *form, size_t n)
{
	make(form);
	cr_assert_eq(open_file(elf.size), 0, "layout %d, section %s, relocated %d", form->layout,
		     form->section ? form->section : "none", form->relocated);
	cr_expect_eq(n_locations(), n, "layout %d, section %s, relocated %d", form->layout,
		     form->section ? form->section : "none", form->relocated);
	close_file();
}

Test(go_tables, is_found_in_all_forms)
{
	static const char *const sections[] = { ".gopclntab", ".data.rel.ro.gopclntab",
						".go.buildinfo", ".note.go.buildid", NULL };

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		for (size_t j = 0; j < ARRAY_SIZE(sections); j++)
			for (int relocated = 0; relocated < 2; relocated++)
				expect(&(struct form){ .layout = layouts[i],
						       .section = sections[j],
						       .relocated = relocated },
				       3);
}

Test(go_tables, is_found_where_only_the_module_says_where_code_is)
{
	expect(&(struct form){ PCLNTAB_GO_1_20, ".gopclntab", .no_text = true }, 3);
}

Test(go_tables, does_without_functions_data)
{
	expect(&(struct form){ PCLNTAB_GO_1_18, ".gopclntab", .no_data = true }, 1);
	expect(&(struct form){ PCLNTAB_GO_1_20, NULL, .no_data = true }, 1);
}

Test(go_tables, needs_the_module_for_what_the_table_does_not_say)
{
	expect(&(struct form){ PCLNTAB_GO_1_16, ".gopclntab", .no_module = true }, 3);
	expect(&(struct form){ PCLNTAB_GO_1_18, ".gopclntab", .no_module = true }, 1);
	make(&(struct form){ PCLNTAB_GO_1_20, ".gopclntab", .no_module = true, .no_text = true });
	cr_expect_eq(open_file(elf.size), -EBADMSG);
	cr_expect_null(file.table.data);
	elf_end(opened);
	/* A header alone is not enough. */
	make(&(struct form){ PCLNTAB_GO_1_20, NULL, .no_module = true });
	cr_expect_eq(open_file(elf.size), -ENOENT);
	elf_end(opened);
}

Test(go_tables, is_none_without_a_mark)
{
	make(&(struct form){ PCLNTAB_GO_1_20, ".rodata" });
	cr_expect_eq(open_file(elf.size), -ENOENT);
	elf_end(opened);
}

Test(go_tables, may_be_cut_off)
{
	static const char *const sections[] = { ".gopclntab", NULL };

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(sections); j++) {
			make(&(struct form){ layouts[i], sections[j], .relocated = true });
			for (size_t size = sizeof(Elf64_Ehdr); size < elf.size; size++) {
				if (open_file(size) == 0)
					go_file_done(&file);
				elf_end(opened);
			}
		}
	}
}

/* The tables of a file that its user has no other hold of than the descriptor. */
Test(go_program, has_the_tables_of_its_file)
{
	_cleanup_close_ int fd = memfd_create("go", MFD_CLOEXEC);
	struct go_program *program = NULL;

	make(&(struct form){ PCLNTAB_GO_1_20, ".gopclntab" });
	cr_assert_eq(write(fd, elf.bytes, elf.size), (ssize_t)elf.size);
	cr_assert_eq(go_program_new(fd, &program), 0);
	file = *go_program_tables(program);
	cr_expect_eq(n_locations(), 3);
	go_program_free(program);
	program = NULL;
	cr_assert_eq(pwrite(fd, "?", 1, 0), 1);
	cr_expect_eq(go_program_new(fd, &program), -ENOENT);
	cr_expect_null(program);
}

/* If headers of tables are all over the file, the search gives up. */
Test(go_tables, is_not_searched_for_ever, .timeout = 20)
{
	static char bytes[1 << 23];
	const size_t headers = sizeof(Elf64_Ehdr) + N_HEADERS * sizeof(Elf64_Phdr);
	const uint64_t text = TEXT;
	Elf64_Phdr segment;

	make(&(struct form){ PCLNTAB_GO_1_20, NULL });
	memcpy(bytes, elf.bytes, headers);
	memcpy(&segment, bytes + sizeof(Elf64_Ehdr), sizeof(segment));
	segment.p_filesz = sizeof(bytes);
	memcpy(bytes + sizeof(Elf64_Ehdr), &segment, sizeof(segment));
	/* Without functions, and all parts where the header is */
	for (size_t at = headers; at + 72 <= sizeof(bytes); at += 72) {
		memcpy(bytes + at, "\xf1\xff\xff\xff\0\0\1\x08", 8);
		memcpy(bytes + at + 24, &text, sizeof(text));
	}
	elf_version(EV_CURRENT);
	opened = elf_memory(bytes, sizeof(bytes));
	cr_expect_eq(go_tables_read(opened, &file), -ENOENT);
	elf_end(opened);
}
