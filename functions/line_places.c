// SPDX-License-Identifier: Apache-2.0
#include "functions/line_places.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/decompressed.h"
#include "elf/elf_open.h"
#include "limits/limits.h"
#include "symbols/range_index.h"

DEFINE_CLEANUP(Dwarf *, dwarf_end)

bool source_line_parse(const char *text, struct source_line *ret)
{
	const char *colon = strrchr(text, ':');
	unsigned long line;
	char *end;

	if (!colon || colon == text || colon[-1] == ':' || colon[1] < '1' || colon[1] > '9')
		return false;
	errno = 0;
	line = strtoul(colon + 1, &end, 10);
	if (*end != '\0' || errno != 0 || line > INT32_MAX)
		return false;
	*ret = (struct source_line){ text, (size_t)(colon - text), (uint32_t)line };
	return true;
}

struct search {
	const struct source_line *wanted;
	struct line_places *found;
	struct range_index code; /* the file's */
	struct range_index unit; /* what its unit says that it has */
	const char *file;        /* its path, libdw's */
	bool has_tables;
};

enum range_id { KEPT, DISCARDED };

static int load_code(Elf *elf, struct range_index *ret)
{
	Elf_Scn *section = NULL;
	int err = 0;

	while (err == 0 && (section = elf_nextscn(elf, section))) {
		GElf_Shdr h;

		if (gelf_getshdr(section, &h) && (h.sh_flags & SHF_ALLOC) &&
		    (h.sh_flags & SHF_EXECINSTR) && h.sh_type != SHT_NOBITS)
			err = range_index_add(ret, h.sh_addr, h.sh_addr + h.sh_size, KEPT);
	}
	range_index_sort(ret);
	return err;
}

/*
 * Where ld.bfd makes the ranges of discarded functions empty (DWARF 4), their ends are those of sequences
 * that are no ends of ranges.
 */
static int add_discarded(struct range_index *unit, Dwarf_Lines *rows, size_t n)
{
	uint64_t end = 0;
	int err;

	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *row = dwarf_onesrcline(rows, i);
		const struct range *r;
		Dwarf_Addr address;
		bool is_end;

		if (dwarf_lineendsequence(row, &is_end) != 0 || !is_end ||
		    dwarf_lineaddr(row, &address) != 0 || address <= end || address == UINT64_MAX)
			continue;
		r = range_index_find(unit, address - 1);
		if (!r || r->end != address)
			end = address;
	}
	err = range_index_add(unit, 0, end, DISCARDED);
	range_index_sort(unit);
	return err;
}

static int load_unit(struct search *s, Dwarf_Die *unit, Dwarf_Lines *rows, size_t n)
{
	Dwarf_Addr base, start, end;
	bool has_empty = false;
	ptrdiff_t at = 0;
	int err = 0;

	range_index_done(&s->unit);
	while (err == 0 && (at = dwarf_ranges(unit, at, &base, &start, &end)) > 0) {
		bool is_kept = range_index_find(&s->code, start);

		/* lld has them begin at the last address, and rows go on from 0. */
		if (end < start)
			start = 0;
		err = range_index_add(&s->unit, start, end, is_kept ? KEPT : DISCARDED);
		has_empty = has_empty || (!is_kept && start == end);
	}
	range_index_sort(&s->unit);
	return err == 0 && has_empty ? add_discarded(&s->unit, rows, n) : err;
}

/*
 * Of a function that the linker discards (--gc-sections, or another unit's copy), the line table keeps the
 * rows, from address 0 on: in what is no code, or, if it is long, in other functions. Where both may be, rows
 * cannot be told apart, as libdw sorts them, and none counts.
 */
static bool is_code(const struct search *s, uint64_t address)
{
	const struct range *r = range_index_find(&s->unit, address);

	for (; r; r = range_index_outer(&s->unit, r, address))
		if (r->id == DISCARDED)
			return false;
	return range_index_find(s->unit.n_ranges > 0 ? &s->unit : &s->code, address);
}

/* Is it the path's end, from a directory on? */
static bool is_file(const struct source_line *wanted, const char *path)
{
	size_t n = strlen(path);

	return n >= wanted->n && memcmp(path + n - wanted->n, wanted->file, wanted->n) == 0 &&
	       (n == wanted->n || path[n - wanted->n - 1] == '/');
}

/* One file may be in many units, with the same path. */
static int note_file(struct search *s, const char *path)
{
	struct line_places *found = s->found;

	if (!s->file)
		snprintf(found->file, sizeof(found->file), "%s", path);
	s->file = s->file ?: path;
	if (strcmp(s->file, path) == 0)
		return 0;
	snprintf(found->other, sizeof(found->other), "%s", path);
	return -EEXIST;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void sort(struct line_places *p)
{
	size_t n = 0;

	if (p->n > 0)
		qsort(p->addresses, p->n, sizeof(*p->addresses), compare);
	for (size_t i = 0; i < p->n; i++)
		if (n == 0 || p->addresses[i] != p->addresses[n - 1])
			p->addresses[n++] = p->addresses[i];
	p->n = n;
}

/* Units may have the same code, as copies of a function in a header. */
static int add(struct line_places *p, uint64_t address)
{
	if (p->n == LINE_PLACES_MAX) {
		sort(p);
		if (p->n > LINE_PLACES_MAX / 2)
			return -E2BIG;
	}
	if (array_reserve(p->addresses, p->n, p->size) < 0)
		return -ENOMEM;
	p->addresses[p->n++] = address;
	return 0;
}

/* What a row of the table says, 0: nothing of the wanted file. */
struct row {
	uint32_t line;
	bool is_statement;
	uint64_t address;
};

static struct row read_row(const struct search *s, Dwarf_Line *line, bool is_wanted)
{
	struct row row = { 0 };
	bool is_end = true;
	Dwarf_Addr address;
	int number;

	if (!is_wanted || dwarf_lineendsequence(line, &is_end) != 0 || is_end ||
	    dwarf_lineno(line, &number) != 0 || number <= 0 ||
	    dwarf_lineaddr(line, &address) != 0 || !is_code(s, address))
		return row;
	row.line = (uint32_t)number;
	row.address = address;
	(void)dwarf_linebeginstatement(line, &row.is_statement);
	return row;
}

/* *is_within: has the code from there on been taken? */
static int take_row(struct search *s, const struct row *row, bool *is_within)
{
	uint32_t line = s->wanted->line, next = s->found->next;

	if (row->line > line && row->is_statement && (next == 0 || row->line < next))
		s->found->next = row->line;
	if (row->line != line)
		*is_within = false;
	if (row->line != line || !row->is_statement || *is_within)
		return 0;
	*is_within = true;
	return add(s->found, row->address);
}

static int take_unit(struct search *s, Dwarf_Die *unit)
{
	bool is_within = false, is_wanted = false;
	const char *last = NULL;
	Dwarf_Lines *rows;
	size_t n;
	int err;

	if (dwarf_getsrclines(unit, &rows, &n) != 0)
		return 0;
	s->has_tables = true;
	err = load_unit(s, unit, rows, n);
	for (size_t i = 0; err == 0 && i < n; i++) {
		const char *path = dwarf_linesrc(dwarf_onesrcline(rows, i), NULL, NULL);
		struct row row;

		if (path != last) {
			is_wanted = path && is_file(s->wanted, path);
			err = is_wanted ? note_file(s, path) : 0;
			last = path;
		}
		row = read_row(s, dwarf_onesrcline(rows, i), is_wanted);
		if (err == 0)
			err = take_row(s, &row, &is_within);
	}
	return err;
}

/* Others share the tables of these: those of types, and what dwz(1) moves from several into one. */
static bool has_code(uint8_t unit_type)
{
	return unit_type == DW_UT_compile || unit_type == DW_UT_skeleton;
}

int line_places_find(int fd, const struct source_line *line, struct line_places *ret)
{
	_cleanup_elf_ Elf *elf = elf_open(fd);
	_cleanup_(dwarf_endp) Dwarf *dwarf = NULL;
	struct search s = { .wanted = line, .found = ret };
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;
	int err;

	*ret = (struct line_places){ 0 };
	if (!elf)
		return -ENOEXEC;
	err = load_code(elf, &s.code);
	if (decompressed_debug_fits(elf))
		dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	while (dwarf && err == 0 &&
	       dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL) == 0)
		if (has_code(type))
			err = take_unit(&s, &die);
	range_index_done(&s.code);
	range_index_done(&s.unit);
	sort(ret);
	if (err < 0)
		return err;
	if (!s.has_tables)
		return -ENODATA;
	if (!s.file)
		return -ENOENT;
	return ret->n > 0 ? 0 : -ESRCH;
}

void line_places_done(struct line_places *p)
{
	free(p->addresses);
	p->addresses = NULL;
	p->n = p->size = 0;
}
