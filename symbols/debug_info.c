// SPDX-License-Identifier: Apache-2.0
#include "symbols/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/decompressed.h"
#include "symbols/debug_text.h"
#include "symbols/debug_unit.h"
#include "symbols/dwfl_file.h"
#include "symbols/names.h"

struct debug_info {
	const struct names *names;
	Dwfl *dwfl;
	Dwarf *dwarf;
	struct debug_unit *units;
	size_t n_units, units_size;
	struct range_index index; /* of the units */
	size_t memory;            /* approximate, of everything */
	bool lacks_files;
};

DEFINE_CLEANUP(struct debug_info *, debug_info_free)

static int add_unit(struct debug_info *info, const Dwarf_Die *die, uint64_t *budget)
{
	size_t n = info->n_units;

	if (array_reserve(info->units, n, info->units_size) < 0)
		return -ENOMEM;
	debug_unit_init(&info->units[n], die, info->names);
	info->n_units++;
	return debug_ranges_add(&info->index, &info->units[n].die, (uint32_t)n, budget);
}

static int unit_compare(const void *key, const void *item)
{
	const Dwarf_Off *offset = key;
	struct debug_unit *unit = (struct debug_unit *)item;
	Dwarf_Off other = dwarf_dieoffset(&unit->die);

	return *offset < other ? -1 : *offset > other;
}

/* Reads .debug_aranges for units that have no ranges of their own. */
static int read_aranges(struct debug_info *info)
{
	Dwarf_Aranges *aranges;
	int err = 0;
	size_t n;

	if (dwarf_getaranges(info->dwarf, &aranges, &n) != 0)
		return 0;
	for (size_t i = 0; err == 0 && i < n; i++) {
		struct debug_unit *unit;
		Dwarf_Addr start;
		Dwarf_Word size;
		Dwarf_Off offset;

		if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &start, &size, &offset) != 0)
			continue;
		unit = bsearch(&offset, info->units, info->n_units, sizeof(*unit), unit_compare);
		if (unit && !unit->has_ranges && start > 0 && size > 0 &&
		    size <= UINT64_MAX - start)
			err = range_index_add(&info->index, start, start + size,
					      (uint32_t)(unit - info->units));
	}
	return err;
}

/*
 * Approximate size of the sections that may have the ranges of units; valid units do not share
 * ranges. libdw has decompressed them.
 */
static uint64_t ranges_size(Dwarf *dwarf)
{
	Elf *elf = dwarf_getelf(dwarf);
	Elf_Scn *section = NULL;
	uint64_t size = 0;

	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		Elf_Data *data = NULL;

		/* Data have their true size; the header may be wrong. */
		if (gelf_getshdr(section, &header) && !(header.sh_flags & SHF_ALLOC))
			data = elf_rawdata(section, NULL);
		if (data && data->d_buf)
			size += data->d_size;
	}
	return size;
}

static int read_units(struct debug_info *info)
{
	uint64_t budget = ranges_size(info->dwarf);
	Dwarf_CU *cu = NULL;
	bool complete = true;
	int err = 0;

	while (err == 0) {
		size_t before = info->index.n_ranges;
		Dwarf_Half version;
		Dwarf_Die die;
		uint8_t type;

		if (names_disabled(info->names))
			return -ECANCELED;
		if (dwarf_get_units(info->dwarf, cu, &cu, &version, &type, &die, NULL) != 0)
			break;
		/* Partial units and type units have no code. */
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		err = add_unit(info, &die, &budget);
		if (err < 0)
			return err;
		info->units[info->n_units - 1].has_ranges = info->index.n_ranges > before;
		complete = complete && info->index.n_ranges > before;
	}
	if (err == 0 && !complete)
		err = read_aranges(info);
	range_index_sort(&info->index);
	return err;
}

/* The size of sections that libdw has decompressed to the heap: those larger than the file. */
static size_t heap_size(Dwarf *dwarf)
{
	Elf *elf = dwarf_getelf(dwarf);
	size_t size = 0, file = 0;
	Elf_Scn *section = NULL;

	elf_rawfile(elf, &file);
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS &&
		    !(header.sh_flags & SHF_ALLOC))
			size += header.sh_size;
	}
	return size > file ? size : 0;
}

/* Opens the file with the parts that dwz has moved. False: it is not sound. */
static bool open_shared_file(Dwarf *dwarf, bool *ret_lacks)
{
	const void *build_id;
	const char *name;
	Dwarf *shared = NULL;
	bool has = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &build_id) > 0;

	if (has)
		shared = dwarf_getalt(dwarf);
	*ret_lacks = has && !shared;
	return !shared || debug_text_sections_end(shared);
}

int debug_info_new(const struct dwfl_source *source, struct debug_info **ret)
{
	_cleanup_(debug_info_freep) struct debug_info *info = calloc(1, sizeof(*info));
	Dwfl_Module *module;
	Dwarf_Addr bias;
	int err;

	if (!info)
		return -ENOMEM;
	info->names = source->names;
	err = dwfl_file_open(source, &info->dwfl, &module);
	if (err < 0)
		return err;
	if (!decompressed_debug_fits(dwfl_module_getelf(module, &bias)))
		return -E2BIG;
	info->dwarf = dwfl_module_getdwarf(module, &bias);
	if (!info->dwarf)
		return names_disabled(info->names) ? -ECANCELED : -ENODATA;
	if (!debug_text_sections_end(info->dwarf) ||
	    !open_shared_file(info->dwarf, &info->lacks_files))
		return -ENODATA;
	err = read_units(info);
	if (err < 0)
		return err;
	if (info->index.n_ranges == 0)
		return -ENODATA;
	info->memory = heap_size(info->dwarf) + info->units_size * sizeof(*info->units) +
		       info->index.ranges_size * sizeof(*info->index.ranges);
	*ret = steal_ptr(info);
	return 0;
}

struct debug_info *debug_info_free(struct debug_info *info)
{
	if (!info)
		return NULL;
	for (size_t i = 0; i < info->n_units; i++)
		debug_unit_done(&info->units[i]);
	free(info->units);
	range_index_done(&info->index);
	dwfl_end(info->dwfl);
	free(info);
	return NULL;
}

int debug_info_find(struct debug_info *info, uint64_t address, bool lines,
		    struct source_location *locations)
{
	const struct range *range = range_index_find(&info->index, address);
	int n = 0;

	/* Where units overlap, one without the address must not hide the others. */
	for (; n == 0 && range; range = range_index_outer(&info->index, range, address)) {
		struct debug_unit *unit = &info->units[range->id];
		size_t before = unit->memory;

		n = debug_unit_find(unit, address, lines, locations);
		info->lacks_files |= unit->lacks_file;
		info->memory += unit->memory - before;
	}
	return n;
}

bool debug_info_is_whole(const struct debug_info *info)
{
	return !info->lacks_files;
}

size_t debug_info_memory(const struct debug_info *info)
{
	return info->memory;
}
