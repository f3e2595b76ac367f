// SPDX-License-Identifier: Apache-2.0
#include "symbols/debug_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"
#include "symbols/debug_text.h"
#include "symbols/demangle.h"
#include "symbols/names.h"

/* A function, or an inlined call. */
struct call {
	Dwarf_Die die;
	uint32_t caller; /* index of the call that it was inlined into */
};

struct debug_function {
	Dwarf_Die die;
	struct call *calls; /* the function itself, then its inlined calls; NULL: not read yet */
	size_t n_calls, calls_size;
	struct range_index index; /* of calls */
};

/* Memory that libdw needs per line of a line table (a struct Dwarf_Line_s and a pointer). */
#define LINE_MEMORY 64

void debug_unit_init(struct debug_unit *unit, const Dwarf_Die *die, const struct names *names)
{
	*unit = (struct debug_unit){ .names = names, .die = *die };
}

static void forget_functions(struct debug_unit *unit)
{
	for (size_t i = 0; i < unit->n_functions; i++) {
		free(unit->functions[i].calls);
		range_index_done(&unit->functions[i].index);
	}
	unit->n_functions = 0;
	range_index_done(&unit->index);
}

void debug_unit_done(struct debug_unit *unit)
{
	forget_functions(unit);
	free(unit->functions);
}

/* Charges work for which valid debug information has at least that many bytes. */
static int spend(uint64_t *budget, uint64_t bytes)
{
	if (bytes > *budget) {
		LIMIT_HIT(DEBUG_UNIT_MAX_PASSES);
		*budget = 0;
		return -E2BIG;
	}
	*budget -= bytes;
	return 0;
}

int debug_ranges_add(struct range_index *index, Dwarf_Die *die, uint32_t id, uint64_t *budget)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		int err = spend(budget, 2); /* the minimum in any form */

		if (err == 0 && start > 0 && start < end)
			err = range_index_add(index, start, end, id);
		if (err < 0)
			return err;
	}
	return 0;
}

/* Advances an entry to its sibling. 0, 1 after the last one, or a negative errno. */
static int step_to_sibling(struct debug_unit *unit, Dwarf_Die *die)
{
	uintptr_t from = (uintptr_t)die->addr, end = (uintptr_t)unit->inner.addr + unit->size;
	Dwarf_Die next = { 0 };
	int last, err;

	if (names_disabled(unit->names))
		return -ECANCELED;
	/* After the last one, libdw returns the position behind it if it has got there. */
	last = dwarf_siblingof(die, &next);
	if (next.addr && (uintptr_t)next.addr < end)
		end = (uintptr_t)next.addr;
	err = spend(&unit->budget, end > from ? end - from : 0);
	*die = next;
	return err < 0 ? err : last != 0;
}

static int add_function(struct debug_unit *unit, Dwarf_Die *die)
{
	size_t before = unit->index.n_ranges;
	int err;

	err = debug_ranges_add(&unit->index, die, (uint32_t)unit->n_functions, &unit->budget);
	if (err < 0 || unit->index.n_ranges == before)
		return err; /* a declaration, or only inlined elsewhere */
	if (array_reserve(unit->functions, unit->n_functions, unit->functions_size) < 0)
		return -ENOMEM;
	unit->functions[unit->n_functions++] = (struct debug_function){ .die = *die };
	return 0;
}

/* Whether the entry may contain functions; the last kinds hardly ever do. */
static bool holds_functions(int tag, bool deep)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
		return deep;
	}
	return false;
}

/* The first entry below another one. False: there is none, or it is too deep. */
static bool step_into(Dwarf_Die *parent, int depth, Dwarf_Die *ret)
{
	if (dwarf_child(parent, ret) != 0)
		return false;
	if (depth == DEBUG_UNIT_MAX_DEPTH)
		LIMIT_HIT(DEBUG_UNIT_MAX_DEPTH);
	return depth < DEBUG_UNIT_MAX_DEPTH;
}

/* Adds the functions below an entry to the index. */
static int read_functions(struct debug_unit *unit, Dwarf_Die *parent, bool deep, int depth)
{
	Dwarf_Die die;
	int err = 0;

	if (!step_into(parent, depth, &die))
		return 0;
	while (err == 0) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			err = add_function(unit, &die);
		if (err == 0 && holds_functions(tag, deep))
			err = read_functions(unit, &die, deep, depth + 1);
		if (err == 0)
			err = step_to_sibling(unit, &die);
	}
	return err < 0 ? err : 0;
}

static size_t index_memory(const struct range_index *index)
{
	return index->ranges_size * sizeof(*index->ranges);
}

/* What libdw reads by itself, for the names of files. */
static bool texts_end(Dwarf_Die *die)
{
	return debug_text_ends(die, DW_AT_comp_dir) && debug_text_ends(die, DW_AT_dwo_name) &&
	       debug_text_ends(die, DW_AT_GNU_dwo_name);
}

/* Finds the unit's entries: in a .dwo file if libdw finds one. */
static void find_inner(struct debug_unit *unit)
{
	Dwarf_Die inner;
	uint8_t type;

	unit->inner = unit->die;
	unit->no_files = !texts_end(&unit->die);
	if (unit->no_files ||
	    dwarf_cu_info(unit->die.cu, NULL, &type, NULL, &inner, NULL, NULL, NULL) != 0 ||
	    type != DW_UT_skeleton)
		return;
	unit->lacks_file = !inner.addr;
	if (!inner.addr || !debug_text_sections_end(dwarf_cu_getdwarf(inner.cu)))
		return;
	unit->inner = inner;
	unit->no_files = !texts_end(&inner);
}

/* The number of bytes from the unit's own entry to its end. */
static uint64_t unit_size(Dwarf_Die *inner)
{
	Dwarf_Off first = dwarf_dieoffset(inner), next = 0;
	size_t header;

	if (dwarf_next_unit(dwarf_cu_getdwarf(inner->cu), first - dwarf_cuoffset(inner), &next,
			    &header, NULL, NULL, NULL, NULL, NULL, NULL) != 0)
		return 0;
	return next > first ? next - first : 0;
}

static bool is_c(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Mips_Assembler:
		return true;
	}
	return false;
}

/* A unit that takes too much work is treated as one without functions. */
static int unit_read(struct debug_unit *unit, bool deep)
{
	int err;

	if (!unit->read)
		find_inner(unit);
	forget_functions(unit);
	unit->read = true;
	unit->read_deep = deep;
	unit->is_c = is_c(&unit->inner);
	unit->size = unit_size(&unit->inner);
	unit->budget = DEBUG_UNIT_MAX_PASSES * unit->size;
	err = read_functions(unit, &unit->inner, deep, 0);
	if (err < 0)
		forget_functions(unit);
	range_index_sort(&unit->index);
	unit->memory +=
		index_memory(&unit->index) + unit->functions_size * sizeof(*unit->functions);
	if (err != -E2BIG)
		return err;
	unit->read_deep = true; /* trying again would cost as much */
	return 0;
}

static int add_call(struct debug_unit *unit, struct debug_function *f, const Dwarf_Die *die,
		    uint32_t caller)
{
	if (f->n_calls == RANGE_INDEX_MAX) {
		LIMIT_HIT(RANGE_INDEX_MAX);
		return -E2BIG;
	}
	if (array_reserve(f->calls, f->n_calls, f->calls_size) < 0)
		return -ENOMEM;
	f->calls[f->n_calls++] = (struct call){ *die, caller };
	return debug_ranges_add(&f->index, &f->calls[f->n_calls - 1].die, (uint32_t)f->n_calls - 1,
				&unit->budget);
}

/* Adds the calls inlined below an entry to the index. */
static int read_calls(struct debug_unit *unit, struct debug_function *f, Dwarf_Die *parent,
		      uint32_t caller, int depth)
{
	Dwarf_Die die;
	int err = 0;

	if (!step_into(parent, depth, &die))
		return 0;
	while (err == 0) {
		uint32_t inner = caller;
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_inlined_subroutine) {
			inner = (uint32_t)f->n_calls;
			err = add_call(unit, f, &die, caller);
		}
		if (err == 0 && (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
				 tag == DW_TAG_try_block || tag == DW_TAG_catch_block))
			err = read_calls(unit, f, &die, inner, depth + 1);
		if (err == 0)
			err = step_to_sibling(unit, &die);
	}
	return err < 0 ? err : 0;
}

/* Forgets all calls but the function itself: an incomplete list would look like a complete one. */
static void forget_calls(struct debug_function *f)
{
	struct call *calls = f->n_calls > 0 ? realloc(f->calls, sizeof(*calls)) : NULL;

	if (calls) {
		f->calls = calls;
		f->n_calls = f->calls_size = 1;
	}
	range_index_done(&f->index);
}

/* A function that takes too much work is treated as one without inlined calls, at all addresses. */
static int function_read(struct debug_unit *unit, struct debug_function *f)
{
	Dwarf_Die die = f->die;
	int err = add_call(unit, f, &die, 0);

	if (err == 0)
		err = read_calls(unit, f, &die, 0, 0);
	if (err < 0)
		forget_calls(f);
	range_index_sort(&f->index);
	unit->memory += index_memory(&f->index) + f->calls_size * sizeof(*f->calls);
	return err == -E2BIG ? 0 : err;
}

static void set_file(struct debug_unit *unit, const char *file, struct source_location *ret)
{
	if (!file)
		return;
	ret->file = file;
	ret->dir = file[0] == '/' ? NULL : debug_text(&unit->die, DW_AT_comp_dir);
}

/*
 * The linker's name, which includes all scopes; in C it exists only if it differs. Otherwise the
 * name in the source.
 */
static const char *function_name(struct debug_unit *unit, Dwarf_Die *die)
{
	const char *linkage = debug_text(die, DW_AT_linkage_name), *name;

	if (!linkage)
		linkage = debug_text(die, DW_AT_MIPS_linkage_name);
	if (linkage && (!unit->is_c || mangling_find(linkage) != MANGLING_NONE))
		return linkage;
	name = debug_text(die, DW_AT_name);
	return name ? name : linkage;
}

static unsigned int number_attribute(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0 || value > INT32_MAX)
		return 0;
	return (unsigned int)value;
}

/* Before DWARF 5, 0 is no file. */
static bool is_file(const struct debug_unit *unit, Dwarf_Word file)
{
	Dwarf_Half version;

	return file > 0 ||
	       (dwarf_cu_info(unit->inner.cu, &version, NULL, NULL, NULL, NULL, NULL, NULL) == 0 &&
		version >= 5);
}

static void set_numbered_file(struct debug_unit *unit, Dwarf_Word file, struct source_location *ret)
{
	Dwarf_Files *files;
	size_t n;

	if (!unit->no_files && is_file(unit, file) &&
	    dwarf_getsrcfiles(&unit->inner, &files, &n) == 0 && file < n)
		set_file(unit, dwarf_filesrc(files, file, NULL, NULL), ret);
}

/*
 * Sets where a function or an inlined one is declared. Link time optimization refers to another unit, which has
 * its own numbers of files.
 */
static void set_declared_file(struct debug_unit *unit, Dwarf_Die *die, struct source_location *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file;

	if (dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_file, &attribute), &file) == 0 &&
	    attribute.cu == unit->inner.cu)
		set_numbered_file(unit, file, ret);
}

/* Sets where an inlined call was made. */
static void set_call_site(struct debug_unit *unit, Dwarf_Die *call, struct source_location *ret)
{
	set_numbered_file(unit, number_attribute(call, DW_AT_call_file), ret);
	ret->line = number_attribute(call, DW_AT_call_line);
	ret->column = number_attribute(call, DW_AT_call_column);
}

/* The last line at or before the address; NULL if it is the end of a sequence. */
static Dwarf_Line *find_line(Dwarf_Lines *lines, size_t n, uint64_t address)
{
	size_t lo = 0, hi = n;
	Dwarf_Line *line;
	Dwarf_Addr start;
	bool end;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (dwarf_lineaddr(dwarf_onesrcline(lines, mid), &start) != 0)
			return NULL;
		if (start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	line = lo > 0 ? dwarf_onesrcline(lines, lo - 1) : NULL;
	return line && dwarf_lineendsequence(line, &end) == 0 && !end ? line : NULL;
}

static void set_line(struct debug_unit *unit, uint64_t address, struct source_location *ret)
{
	Dwarf_Lines *lines;
	Dwarf_Line *line;
	int number = 0, column = 0;
	size_t n;

	/* libdw caches the table, sorted by address. */
	if (unit->no_files || dwarf_getsrclines(&unit->die, &lines, &n) != 0)
		return;
	if (!unit->has_lines)
		unit->memory += n * LINE_MEMORY;
	unit->has_lines = true;
	line = find_line(lines, n, address);
	if (!line)
		return;
	set_file(unit, dwarf_linesrc(line, NULL, NULL), ret);
	dwarf_lineno(line, &number);
	dwarf_linecol(line, &column);
	ret->line = number > 0 ? (unsigned int)number : 0;
	ret->column = column > 0 ? (unsigned int)column : 0;
}

/* The function at an address. */
static int find_function(struct debug_unit *unit, uint64_t address, struct debug_function **ret)
{
	const struct range *range;
	int err = 0;

	if (!unit->read)
		err = unit_read(unit, false);
	range = err < 0 ? NULL : range_index_find(&unit->index, address);
	if (err == 0 && !range && !unit->read_deep) {
		err = unit_read(unit, true);
		range = err < 0 ? NULL : range_index_find(&unit->index, address);
	}
	*ret = range ? &unit->functions[range->id] : NULL;
	if (err == 0 && range && !(*ret)->calls)
		err = function_read(unit, *ret);
	return err;
}

/* The innermost call that contains an address, or the function itself. */
static uint32_t find_call(struct debug_function *f, uint64_t address)
{
	const struct range *range = range_index_find(&f->index, address);

	return range ? range->id : 0;
}

/* The calls that contain an address, innermost first. */
static int find_calls(struct debug_unit *unit, struct debug_function *f, uint64_t address,
		      bool lines, struct source_location *locations)
{
	uint32_t i = find_call(f, address);
	int n = 0;

	while (i > 0 && n < LOCATION_MAX - 1) {
		struct call *call = &f->calls[i];

		locations[n].function = function_name(unit, &call->die);
		locations[n].inlined = true;
		n++;
		if (lines)
			set_call_site(unit, &call->die, &locations[n]);
		i = call->caller;
	}
	if (i > 0)
		LIMIT_HIT(LOCATION_MAX);
	locations[n++].function = function_name(unit, &f->die);
	return n;
}

int debug_unit_find(struct debug_unit *unit, uint64_t address, bool lines,
		    struct source_location *locations)
{
	struct debug_function *f;
	int n = 0, err;

	err = find_function(unit, address, &f);
	if (err < 0)
		return err;
	for (size_t i = 0; i < LOCATION_MAX; i++)
		locations[i] = (struct source_location){ 0 };
	if (f)
		n = find_calls(unit, f, address, lines, locations);
	if (lines)
		set_line(unit, address, &locations[0]);
	/* Code of no line is often in a row of what was inlined before it, with that file. */
	if (lines && f && locations[0].line == 0)
		set_declared_file(unit, &f->calls[find_call(f, address)].die, &locations[0]);
	return n == 0 && locations[0].file ? 1 : n;
}
