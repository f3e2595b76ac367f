// SPDX-License-Identifier: Apache-2.0
#include "symbols/debug_text.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"

/* A section of debug information: its contents, and its name without one of libdw's prefixes. */
struct debug_section {
	const char *name, *bytes;
	size_t size;
};

/* Finds the next one that has bytes. False: there is none. */
static bool next_section(Elf *elf, Elf_Scn **section, struct debug_section *ret)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((*section = elf_nextscn(elf, *section)) != NULL) {
		const char *name = NULL;
		const Elf_Data *data;
		GElf_Shdr header;

		if (gelf_getshdr(*section, &header) && header.sh_type != SHT_NOBITS)
			name = elf_strptr(elf, names, header.sh_name);
		name = name ? strstr(name, "debug_") : NULL;
		/* libdw has these, too. */
		data = name ? elf_getdata(*section, NULL) : NULL;
		if (!data || !data->d_buf || data->d_size == 0)
			continue;
		*ret = (struct debug_section){ name, data->d_buf, data->d_size };
		return true;
	}
	return false;
}

static bool has_texts(const struct debug_section *section)
{
	static const char *const names[] = { "debug_str", "debug_line_str", "debug_str.dwo",
					     "debug_line_str.dwo" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(section->name, names[i]) == 0)
			return true;
	return false;
}

bool debug_text_sections_end(Dwarf *dwarf)
{
	Elf *elf = dwarf_getelf(dwarf);
	struct debug_section s;
	Elf_Scn *section = NULL;

	while (next_section(elf, &section, &s))
		if (has_texts(&s) && s.bytes[s.size - 1] != '\0')
			return false;
	return true;
}

/* The number of bytes from here to the end of the section; 0: it is in none. */
static size_t bytes_left(Dwarf *dwarf, const void *at)
{
	Elf *elf = dwarf_getelf(dwarf);
	struct debug_section s;
	Elf_Scn *section = NULL;

	while (next_section(elf, &section, &s)) {
		size_t offset = (size_t)((uintptr_t)at - (uintptr_t)s.bytes);

		if (offset < s.size)
			return s.size - offset;
	}
	return 0;
}

/* Texts in other sections end with these at the latest. */
static bool ends(const Dwarf_Attribute *attribute)
{
	return attribute->form != DW_FORM_string ||
	       memchr(attribute->valp, '\0',
		      bytes_left(dwarf_cu_getdwarf(attribute->cu), attribute->valp));
}

bool debug_text_ends(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return !dwarf_attr(die, name, &attribute) || ends(&attribute);
}

const char *debug_text(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, name, &attribute) && ends(&attribute) ?
		       dwarf_formstring(&attribute) :
		       NULL;
}
