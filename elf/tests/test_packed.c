// SPDX-License-Identifier: Apache-2.0
/* Files packed by UPX are recognised, and no others. */
#include <criterion/criterion.h>
#include <elf.h>
#include <libelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "elf/packed.h"

/* A file with one segment as UPX writes it, byte by byte where UPX defines the format. */
#define HEADERS (sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr))
#define SIZE 512

static const uint8_t info[24] = {
	0xd8, 0x00, 0xc8, 0x76, 'U',  'P',  'X', '!', 0xfc, 0x0a, 14, 22, /* l_info */
	0,    0,    0,    0,    0x00, 0x10, 0,   0,   0x00, 0x08, 0,  0,  /* p_info */
};
static const uint8_t end[36] = {
	'U',  'P',  'X', '!', 14,   22,   8, 7, 1, 2, 3, 4, 5, 6, 7, 8, 0x00, 0x10,
	0x00, 0x00, 0,   2,   0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x00,
};
static uint8_t file[SIZE];

static void begin(void)
{
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_filesz = SIZE,
		.p_memsz = SIZE,
	};

	memset(file, 0x90, SIZE);
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), &segment, sizeof(segment));
}

TestSuite(packed, .init = begin);

static void put_program(void)
{
	memcpy(file + HEADERS, info, sizeof(info));
}

/* A library has its l_info elsewhere: its end has the offset of what follows l_info. */
static void put_library(uint32_t at)
{
	const uint32_t data = at + 12;

	if (at < SIZE)
		memcpy(file + at, info, sizeof(info));
	memcpy(file + SIZE - sizeof(end), end, sizeof(end));
	memcpy(file + SIZE - sizeof(data), &data, sizeof(data));
}

static const char *packer(size_t size)
{
	struct elf_file elf;
	const char *found;

	cr_assert(elf_file_init_memory(&elf, file, size) == 0);
	found = elf.packer;
	elf_file_done(&elf);
	return found;
}

Test(packed, programs)
{
	cr_assert(packer(SIZE) == NULL);
	put_program();
	cr_assert_str_eq(packer(SIZE), "UPX");
}

Test(packed, libraries)
{
	put_library(300);
	cr_assert_str_eq(packer(SIZE), "UPX");
	file[300 + 4] = 'u';
	cr_assert(packer(SIZE) == NULL);
	file[300 + 4] = 'U';
	file[SIZE - sizeof(end)] = 'u';
	cr_assert(packer(SIZE) == NULL);
}

/* In a program that happens to have these four letters there, all other fields are wrong. */
Test(packed, each_field_counts)
{
	static const size_t fields[] = { 4, 7, 11 };

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		put_program();
		file[HEADERS + fields[i]]++;
		cr_assert(packer(SIZE) == NULL, "byte %zu", fields[i]);
	}
	for (size_t at = 16; at < 24; at += 4) { /* sizes of the packed file and block */
		put_program();
		memset(file + HEADERS + at, 0, 4);
		cr_assert(packer(SIZE) == NULL, "size at %zu", at);
	}
}

/* Reads beyond the end of the file. */
Test(packed, ends)
{
	static const uint32_t outside[] = { SIZE - 23, SIZE, UINT32_MAX - 12, (uint32_t)-12, -1 };
	Elf64_Ehdr *header = (Elf64_Ehdr *)file;

	for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
		begin();
		put_library(outside[i] < SIZE - 36 ? outside[i] : SIZE);
		memcpy(file + SIZE - 4, &(uint32_t){ outside[i] + 12 }, 4);
		cr_assert(packer(SIZE) == NULL, "%u", outside[i]);
	}
	begin();
	put_program();
	header->e_phnum = 0;
	cr_assert(packer(SIZE) == NULL);
	((Elf64_Phdr *)(file + sizeof(*header)))->p_filesz = HEADERS;
	header->e_phnum = 1;
	cr_assert(packer(HEADERS + sizeof(info) - 1) == NULL);
	cr_assert_str_eq(packer(HEADERS + sizeof(info)), "UPX");
}

/* Only packed programs are reported, each once. */
Test(packed, told_once)
{
	struct packed_reported reported = { 0 };

	packed_report(&reported, "", 1, 2, getpid(), "/program");
	cr_assert_eq(reported.n, 0);
	packed_report(&reported, "UPX", 1, 2, getpid(), "/program");
	packed_report(&reported, "UPX", 1, 2, getpid(), "/program");
	cr_assert_eq(reported.n, 1);
	packed_report(&reported, "UPX", 1, 3, getpid(), "/other");
	cr_assert_eq(reported.n, 2);
}
