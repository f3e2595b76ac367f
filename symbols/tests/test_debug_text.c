// SPDX-License-Identifier: Apache-2.0
/* Texts that end where they should, and do not, in a copy of text.s in memory. */
#include "symbols/debug_text.h"

#include <criterion/criterion.h>
#include <dwarf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *bytes;
static Elf *elf;
static Dwarf *dwarf;
static Dwarf_Die unit;

static void begin(void)
{
	const char *path = getenv("TEXT");
	Dwarf_CU *cu = NULL;
	struct stat st;
	int fd;

	cr_assert(path, "TEXT is not set; try: meson test symbols-debug_text");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert(fd >= 0 && fstat(fd, &st) == 0);
	bytes = malloc((size_t)st.st_size);
	cr_assert(bytes && read(fd, bytes, (size_t)st.st_size) == st.st_size);
	close(fd);
	elf_version(EV_CURRENT);
	elf = elf_memory(bytes, (size_t)st.st_size);
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	cr_assert(dwarf && dwarf_get_units(dwarf, NULL, &cu, NULL, NULL, &unit, NULL) == 0);
}

static void end(void)
{
	dwarf_end(dwarf);
	elf_end(elf);
	free(bytes);
}

TestSuite(debug_text, .init = begin, .fini = end);

/* The last byte of a section. */
static char *end_of(const char *wanted)
{
	Elf_Scn *section = NULL;
	size_t names;

	cr_assert(elf_getshdrstrndx(elf, &names) == 0);
	while ((section = elf_nextscn(elf, section)) != NULL) {
		const Elf_Data *data = elf_getdata(section, NULL);
		GElf_Shdr header;

		cr_assert(gelf_getshdr(section, &header));
		if (strcmp(elf_strptr(elf, names, header.sh_name), wanted) == 0)
			return (char *)data->d_buf + data->d_size - 1;
	}
	cr_assert_fail("%s is not there", wanted);
	return NULL;
}

Test(debug_text, is_found)
{
	cr_assert(debug_text_sections_end(dwarf));
	cr_assert_str_eq(debug_text(&unit, DW_AT_name), "unit.c");
	cr_assert_str_eq(debug_text(&unit, DW_AT_comp_dir), "/src");
	cr_assert(debug_text_ends(&unit, DW_AT_name) && debug_text_ends(&unit, DW_AT_comp_dir));
	cr_assert_null(debug_text(&unit, DW_AT_linkage_name));
	cr_assert(debug_text_ends(&unit, DW_AT_linkage_name));
}

Test(debug_text, ends_in_its_section)
{
	*end_of(".debug_info") = 'x';
	cr_assert_null(debug_text(&unit, DW_AT_name));
	cr_assert(!debug_text_ends(&unit, DW_AT_name));
	cr_assert(debug_text_sections_end(dwarf));
	cr_assert_str_eq(debug_text(&unit, DW_AT_comp_dir), "/src");
}

Test(debug_text, sections_end_with_a_zero)
{
	*end_of(".debug_str") = 'x';
	cr_assert(!debug_text_sections_end(dwarf));
	*end_of(".debug_str") = '\0';
	cr_assert(debug_text_sections_end(dwarf));
	*end_of(".debug_line_str") = 'x';
	cr_assert(!debug_text_sections_end(dwarf));
}
