// SPDX-License-Identifier: Apache-2.0
/* The locations of each address in unit.s and lineless.s, whose debug information is written by hand. */
#include "symbols/debug_unit.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limits/limits.h"
#include "symbols/tests/some_names.h"

/* The units in order: C++, C, and one whose rows have no lines. */
enum { UNIT_CC, UNIT_C, UNIT_LINELESS, N_UNITS };

static int fd;
static Dwarf *dwarf;
static struct debug_unit units[N_UNITS];
static struct source_location locations[LOCATION_MAX];
static int n_locations;

static void begin(void)
{
	const char *path = getenv("UNIT");
	Dwarf_Off offset = 0, next;
	size_t header;

	cr_assert(path, "UNIT is not set; try: meson test symbols-debug_unit");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	dwarf = dwarf_begin(fd, DWARF_C_READ);
	cr_assert(dwarf, "%s: %s", path, dwarf_errmsg(-1));
	for (int i = 0; i < N_UNITS; i++, offset = next) {
		Dwarf_Die die;

		cr_assert_eq(dwarf_nextcu(dwarf, offset, &next, &header, NULL, NULL, NULL), 0);
		cr_assert(dwarf_offdie(dwarf, offset + header, &die));
		debug_unit_init(&units[i], &die, some_names());
	}
}

static void end(void)
{
	for (int i = 0; i < N_UNITS; i++)
		debug_unit_done(&units[i]);
	dwarf_end(dwarf);
	close(fd);
}

TestSuite(debug_unit, .init = begin, .fini = end);

/* The start of a function. */
static uint64_t address_of(const char *name)
{
	Elf *elf = dwarf_getelf(dwarf);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM)
			continue;
		for (int i = 0; gelf_getsym(elf_getdata(section, NULL), i, &symbol); i++)
			if (strcmp(elf_strptr(elf, header.sh_link, symbol.st_name), name) == 0)
				return symbol.st_value;
	}
	cr_assert(false, "%s is not there", name);
	return 0;
}

static void find(int unit, uint64_t address)
{
	n_locations = debug_unit_find(&units[unit], address, true, locations);
}

static void expect(int i, const char *function, const char *file, unsigned int line,
		   unsigned int column)
{
	const struct source_location *p = &locations[i];
	char path[256];

	cr_assert_lt(i, n_locations);
	cr_expect_str_eq(p->function ? p->function : "(none)", function);
	cr_expect(p->line == line && p->column == column, "location %d: %u:%u", i, p->line,
		  p->column);
	cr_expect_eq(p->inlined, i < n_locations - 1);
	/* libdw may have joined them. */
	snprintf(path, sizeof(path), "%s%s%s", p->dir ? p->dir : "", p->dir ? "/" : "",
		 p->file ? p->file : "(none)");
	cr_expect_str_eq(path, file);
}

/* From the first byte of each to the last one. */
Test(debug_unit, knows_lines_and_inlined_calls)
{
	uint64_t outer = address_of("outer");

	for (uint64_t i = 0; i < 16; i++) {
		find(UNIT_CC, outer + i);
		switch (i / 4) {
		case 0:
			cr_assert_eq(n_locations, 1);
			expect(0, "_Z5outerv", "/src/unit.cc", 10, 1);
			break;
		case 1:
			cr_assert_eq(n_locations, 2);
			expect(0, "inner", "/elsewhere/header.h", 20, 7);
			expect(1, "_Z5outerv", "/src/unit.cc", 12, 3);
			break;
		case 2:
			cr_assert_eq(n_locations, 3);
			expect(0, "innermost", "/elsewhere/header.h", 30, 9);
			expect(1, "inner", "/elsewhere/header.h", 22, 5);
			expect(2, "_Z5outerv", "/src/unit.cc", 12, 3);
			break;
		default:
			cr_assert_eq(n_locations, 1);
			expect(0, "_Z5outerv", "/src/unit.cc", 13, 2);
		}
	}
}

/* Code between two sections is in no unit; the last line before it does not extend to it. */
Test(debug_unit, ends_lines_with_their_sequence)
{
	uint64_t outer = address_of("outer"), second = address_of("second");

	cr_assert_gt(second, outer + 16);
	for (uint64_t address = outer - 1; address <= second + 16; address++) {
		find(UNIT_CC, address);
		if (address >= outer && address < outer + 16)
			continue;
		if (address < second || address >= second + 16) {
			cr_expect_eq(n_locations, 0, "%#lx", address);
			cr_expect_null(locations[0].file);
			continue;
		}
		cr_assert_eq(n_locations, 1);
		if (address < second + 8)
			expect(0, "second", "/src/unit.cc", 40, 0);
		else
			expect(0, "(none)", "/src/unit.cc", 50, 0);
	}
}

/* A row without a line may have any file: that of the function is where it is declared. */
Test(debug_unit, knows_files_of_code_without_lines)
{
	uint64_t lineless = address_of("lineless");

	find(UNIT_LINELESS, lineless + 3);
	cr_assert_eq(n_locations, 1);
	expect(0, "lineless", "/src/unit.cc", 0, 0);
	find(UNIT_LINELESS, lineless + 4);
	cr_assert_eq(n_locations, 2);
	expect(0, "inner", "/elsewhere/header.h", 0, 0);
	expect(1, "lineless", "/src/unit.cc", 62, 4);
	/* One that is declared in no file has the row's. */
	find(UNIT_LINELESS, address_of("undeclared"));
	cr_assert_eq(n_locations, 1);
	expect(0, "undeclared", "/elsewhere/header.h", 0, 0);
	find(UNIT_LINELESS, address_of("nowhere"));
	cr_assert_eq(n_locations, 1);
	expect(0, "nowhere", "././relative.h", 0, 0);
	/* The row's directory goes with its file. */
	find(UNIT_LINELESS, address_of("elsewhere"));
	cr_assert_eq(n_locations, 1);
	expect(0, "elsewhere", "/src/unit.cc", 0, 0);
}

/* In C, a linkage name is an alternative name of the function unless it is mangled. */
Test(debug_unit, names_functions_as_their_language_does)
{
	find(UNIT_C, address_of("plain"));
	cr_assert_eq(n_locations, 1);
	expect(0, "plain", "(none)", 0, 0);
	find(UNIT_C, address_of("mangled"));
	cr_assert_eq(n_locations, 1);
	expect(0, "_Z7mangledv", "(none)", 0, 0);
	find(UNIT_C, address_of("older"));
	cr_assert_eq(n_locations, 1);
	expect(0, "_Z5olderv", "(none)", 0, 0);
}

Test(debug_unit, tells_units_apart)
{
	find(UNIT_C, address_of("outer"));
	cr_assert_eq(n_locations, 0);
	find(UNIT_CC, address_of("plain"));
	cr_assert_eq(n_locations, 0);
}

Test(debug_unit, leaves_lines_out)
{
	n_locations = debug_unit_find(&units[UNIT_CC], address_of("outer") + 8, false, locations);
	cr_assert_eq(n_locations, 3);
	for (int i = 0; i < n_locations; i++)
		cr_expect(!locations[i].file && !locations[i].dir && locations[i].line == 0);
	cr_assert_str_eq(locations[1].function, "inner");
	cr_assert(!units[UNIT_CC].has_lines);
}

/*
 * Memory decides whose debug information is closed: lines count once they are read, and once only.
 */
Test(debug_unit, knows_what_memory_its_lines_take)
{
	struct debug_unit *unit = &units[UNIT_CC];
	size_t without, with;

	n_locations = debug_unit_find(unit, address_of("outer"), false, locations);
	without = unit->memory;
	find(UNIT_CC, address_of("outer"));
	with = unit->memory;
	cr_assert_gt(with, without);
	for (uint64_t i = 0; i < 16; i++)
		find(UNIT_CC, address_of("outer") + i);
	cr_assert_eq(unit->memory, with);
}
