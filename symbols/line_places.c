// SPDX-License-Identifier: Apache-2.0
#include "symbols/line_places.h"

#include <elfutils/libdw.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/decompressed.h"
#include "elf/elf_open.h"

DEFINE_CLEANUP(Dwarf *, dwarf_end)

#define MAX_PLACES 4096

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
	bool has_tables, has_file;
};

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
	char known[LINE_PLACES_NAME_SIZE];

	snprintf(known, sizeof(known), "%s", path);
	if (!s->has_file)
		memcpy(found->file, known, sizeof(known));
	s->has_file = true;
	if (strcmp(found->file, known) == 0)
		return 0;
	memcpy(found->other, known, sizeof(known));
	return -EEXIST;
}

static int add(struct line_places *p, uint64_t address)
{
	if (p->n == MAX_PLACES)
		return -EFBIG;
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

static struct row read_row(Dwarf_Line *line, bool is_wanted)
{
	struct row row = { 0 };
	bool is_end = true;
	Dwarf_Addr address;
	int number;

	if (!is_wanted || dwarf_lineendsequence(line, &is_end) != 0 || is_end ||
	    dwarf_lineno(line, &number) != 0 || number <= 0 || dwarf_lineaddr(line, &address) != 0)
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
	int err = 0;

	if (dwarf_getsrclines(unit, &rows, &n) != 0)
		return 0;
	s->has_tables = true;
	for (size_t i = 0; err == 0 && i < n; i++) {
		const char *path = dwarf_linesrc(dwarf_onesrcline(rows, i), NULL, NULL);
		struct row row;

		if (path != last) {
			is_wanted = path && is_file(s->wanted, path);
			err = is_wanted ? note_file(s, path) : 0;
			last = path;
		}
		row = read_row(dwarf_onesrcline(rows, i), is_wanted);
		if (err == 0)
			err = take_row(s, &row, &is_within);
	}
	return err;
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

int line_places_find(int fd, const struct source_line *line, struct line_places *ret)
{
	_cleanup_elf_ Elf *elf = elf_open(fd);
	_cleanup_(dwarf_endp) Dwarf *dwarf = NULL;
	struct search s = { .wanted = line, .found = ret };
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	int err = 0;

	*ret = (struct line_places){ 0 };
	if (!elf)
		return -ENOEXEC;
	if (decompressed_debug_fits(elf))
		dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	while (dwarf && err == 0 &&
	       dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
		err = take_unit(&s, &die);
	sort(ret);
	if (err < 0)
		return err;
	if (!s.has_tables)
		return -ENODATA;
	if (!s.has_file)
		return -ENOENT;
	return ret->n > 0 ? 0 : -ESRCH;
}

void line_places_done(struct line_places *p)
{
	free(p->addresses);
	p->addresses = NULL;
	p->n = p->size = 0;
}
