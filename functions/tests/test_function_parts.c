// SPDX-License-Identifier: Apache-2.0
/* Whose code a part is, by symbol tables as compilers and linkers write them. */
#include "functions/function_parts.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "functions/function_search.h"

#define MAX_SYMBOLS 16
#define FILE_SIZE 8192

struct row {
	const char *name; /* NULL: the end */
	unsigned char bind, type;
	uint64_t value; /* and offset in the file */
};

#define UNIT(name)                                                                                 \
	{                                                                                          \
		name, STB_LOCAL, STT_FILE, 0                                                       \
	}
#define LOCAL(name, value)                                                                         \
	{                                                                                          \
		name, STB_LOCAL, STT_FUNC, value                                                   \
	}
#define GLOBAL(name, value)                                                                        \
	{                                                                                          \
		name, STB_GLOBAL, STT_FUNC, value                                                  \
	}

static int write_file(const struct row *rows)
{
	char bytes[FILE_SIZE] = "";
	Elf64_Ehdr *file = (void *)bytes;
	Elf64_Phdr *segment = (void *)(file + 1);
	Elf64_Shdr *header = (void *)(segment + 1);
	Elf64_Sym *symbol = (void *)(header + 3);
	char *names = (char *)(symbol + MAX_SYMBOLS), *end = names + 1;
	int fd = memfd_create("functions", MFD_CLOEXEC);
	size_t n = 0;

	for (; rows[n].name; n++) {
		symbol[n] = (Elf64_Sym){ .st_name = (Elf64_Word)(end - names),
					 .st_info = ELF64_ST_INFO(rows[n].bind, rows[n].type),
					 .st_shndx = 1,
					 .st_value = rows[n].value,
					 .st_size = 8 };
		end = stpcpy(end, rows[n].name) + 1;
	}
	*file = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(*file),
		.e_phoff = (Elf64_Off)((char *)segment - bytes),
		.e_phentsize = sizeof(*segment),
		.e_phnum = 1,
		.e_shoff = (Elf64_Off)((char *)header - bytes),
		.e_shentsize = sizeof(*header),
		.e_shnum = 3,
	};
	*segment = (Elf64_Phdr){ .p_type = PT_LOAD,
				 .p_flags = PF_R | PF_X,
				 .p_filesz = FILE_SIZE,
				 .p_memsz = FILE_SIZE };
	header[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				  .sh_offset = (Elf64_Off)(names - bytes),
				  .sh_size = (Elf64_Xword)(end - names) };
	header[2] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
				  .sh_offset = (Elf64_Off)((char *)symbol - bytes),
				  .sh_size = n * sizeof(*symbol),
				  .sh_entsize = sizeof(*symbol),
				  .sh_addralign = 8,
				  .sh_link = 1 };
	cr_assert_eq(write(fd, bytes, sizeof(bytes)), (ssize_t)sizeof(bytes));
	return fd;
}

/* What is wanted of the part at an offset. `of` 0: it is maybe one. */
struct wanted {
	uint64_t offset, of;
};

static void expect(const char *pattern, const struct row *rows, const struct wanted *wanted,
		   size_t n)
{
	_cleanup_close_ int fd = write_file(rows);
	_cleanup_(function_list_done) struct function_list list = { 0 };
	const struct function_query query = { .pattern = pattern, .has_parts = true };
	struct listed_function f;
	size_t found = 0;

	cr_assert_eq(function_search(fd, &query, &list), 0);
	for (size_t at = 0; function_list_next(&list, &at, &f);) {
		if (f.kind == LISTED_FUNCTION)
			continue;
		cr_assert_lt(found, n, "0x%lx", (unsigned long)f.offset);
		cr_expect_eq(f.offset, wanted[found].offset);
		cr_expect_eq(f.of, wanted[found].of);
		cr_expect_eq(f.kind, f.of ? LISTED_PART : LISTED_MAYBE_PART);
		cr_expect_eq(f.size, 8);
		found++;
	}
	cr_expect_eq(found, n);
}

#define EXPECT(pattern, rows, ...)                                                                 \
	expect(pattern, rows, (const struct wanted[]){ __VA_ARGS__ },                              \
	       ARRAY_SIZE(((const struct wanted[]){ __VA_ARGS__ })))

Test(function_parts, are_of_the_function_with_that_name)
{
	static const struct row rows[] = { UNIT("a.c"),
					   LOCAL("f.cold", 0x40),
					   LOCAL("g", 0x100),
					   LOCAL("g.cold", 0x50),
					   LOCAL("gg.cold", 0x60),
					   GLOBAL("f", 0x200),
					   GLOBAL("gg", 0x300),
					   { 0 } };

	EXPECT("f", rows, { 0x40, 0x200 });
	EXPECT("g", rows, { 0x50, 0x100 });
}

/* Of two names of a function, the part has but one. */
Test(function_parts, are_known_by_each_name_of_the_function)
{
	static const struct row rows[] = {
		UNIT("a.c"),           LOCAL("base.cold", 0x40), GLOBAL("alias", 0x200),
		GLOBAL("base", 0x200), GLOBAL("v@@V_1", 0x200),  { 0 }
	};

	EXPECT("alias", rows, { 0x40, 0x200 });
	EXPECT("v", rows, { 0x40, 0x200 });
}

Test(function_parts, are_of_the_same_unit)
{
	static const struct row rows[] = { UNIT("a.c"),           LOCAL("f", 0x100),
					   LOCAL("f.cold", 0x40), UNIT("b.c"),
					   LOCAL("f", 0x200),     LOCAL("f.cold", 0x50),
					   UNIT("c.c"),           LOCAL("f.cold", 0x60),
					   GLOBAL("f", 0x300),    { 0 } };

	EXPECT("f", rows, { 0x40, 0x100 }, { 0x50, 0x200 }, { 0x60, 0x300 });
}

/* The linker puts what a library hides behind the units. */
Test(function_parts, are_of_a_hidden_function)
{
	static const struct row rows[] = {
		UNIT("a.c"), LOCAL("f.cold", 0x40), UNIT(""), LOCAL("f", 0x100), { 0 }
	};

	EXPECT("f", rows, { 0x40, 0x100 });
}

Test(function_parts, may_be_of_one_of_several)
{
	static const struct row one_unit[] = {
		LOCAL("f", 0x100), LOCAL("f.cold", 0x40), LOCAL("f", 0x200), { 0 }
	};
	static const struct row other_units[] = { UNIT("a.c"), LOCAL("f", 0x100),
						  UNIT("b.c"), LOCAL("f", 0x200),
						  UNIT("c.c"), LOCAL("f.cold", 0x40),
						  { 0 } };
	static const struct row two_parts[] = {
		UNIT("a.c"), LOCAL("f.cold", 0x40), LOCAL("f.cold", 0x50), GLOBAL("f", 0x100), { 0 }
	};

	EXPECT("f", one_unit, { 0x40, 0 });
	EXPECT("f", other_units, { 0x40, 0 });
	EXPECT("f", two_parts, { 0x40, 0 }, { 0x50, 0 });
}

/* Those of LLVM's HotColdSplitting are called, BOLT's are not. */
Test(function_parts, may_be_functions_of_their_own)
{
	static const struct row rows[] = { UNIT("a.c"),
					   LOCAL("f.cold.0", 0x40),
					   LOCAL("g.cold.12", 0x50),
					   LOCAL("f.coldest", 0x60),
					   LOCAL("f.cold.1.part.2", 0x70),
					   LOCAL(".cold", 0x80),
					   GLOBAL("f", 0x100),
					   GLOBAL("g", 0x200),
					   { 0 } };

	EXPECT("f", rows, { 0x40, 0 });
	EXPECT("g", rows, { 0x50, 0 });
}

/* A function that was not asked for has the name, too. */
Test(function_parts, are_not_of_another_function)
{
	static const struct row rows[] = { UNIT("a.c"),           LOCAL("x", 0x100),
					   LOCAL("x.cold", 0x40), UNIT("b.c"),
					   LOCAL("x", 0x200),     LOCAL("x.cold", 0x50),
					   GLOBAL("f", 0x100),    { 0 } };

	EXPECT("f", rows, { 0x40, 0x100 });
}

/* Names of C++ can look like globs. */
Test(function_parts, are_not_of_those_that_only_a_glob_finds)
{
	static const struct row rows[] = { UNIT("a.c"),
					   LOCAL("_ZN2nsmLEi.cold", 0x40),
					   LOCAL("_ZN2nsmlEi.cold", 0x50),
					   GLOBAL("_ZN2nsmLEi", 0x100), /* ns::operator*= */
					   GLOBAL("_ZN2nsmlEi", 0x200),
					   /* ns::operator* */ { 0 } };

	EXPECT("ns::operator*", rows, { 0x50, 0x200 });
}
