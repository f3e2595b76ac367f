// SPDX-License-Identifier: Apache-2.0
#include "elf/code_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_symbols.h"

/* Lines whose targets have no name yet, by target. */
struct unnamed {
	struct code_line **lines;
	size_t n;
};

static int compare_targets(const void *a, const void *b)
{
	const struct code_line *x = *(struct code_line *const *)a;
	const struct code_line *y = *(struct code_line *const *)b;

	return (x->target > y->target) - (x->target < y->target);
}

static void add_name(struct code_line *line, const struct elf_symbol *symbol)
{
	uint64_t distance = line->target - symbol->address;
	size_t n = strlen(line->text);
	char *name = line->text + n;

	if (distance > 0)
		(void)snprintf(name, sizeof(line->text) - n, " <%s+0x%" PRIx64 ">", symbol->name,
			       distance);
	else
		(void)snprintf(name, sizeof(line->text) - n, " <%s>", symbol->name);
	for (; *name; name++)
		if (*name < ' ' || *name > '~')
			*name = '?';
}

/* The first of several names is as good as others. */
static int on_symbol(void *arg, const struct elf_symbol *symbol)
{
	const struct unnamed *u = arg;
	size_t first = 0, end = u->n;

	if (symbol->is_function || symbol->size == 0 || symbol->name[0] == '\0')
		return 0;
	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (u->lines[middle]->target < symbol->address)
			first = middle + 1;
		else
			end = middle;
	}
	for (; first < u->n && u->lines[first]->target - symbol->address < symbol->size; first++)
		if (!strchr(u->lines[first]->text, '<'))
			add_name(u->lines[first], symbol);
	return 0;
}

static int add_names(const struct elf_file *file, struct code_line *lines, size_t n)
{
	struct unnamed u = { .lines = calloc(n, sizeof(*u.lines)) };

	if (!u.lines)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (lines[i].target != 0 && !lines[i].is_branch)
			u.lines[u.n++] = &lines[i];
	if (u.n > 0) {
		qsort(u.lines, u.n, sizeof(*u.lines), compare_targets);
		(void)elf_symbols_each(file, true, on_symbol, &u);
		(void)elf_symbols_each(file, false, on_symbol, &u);
	}
	free(u.lines);
	return 0;
}

static const struct elf_section *section_of(const struct elf_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->n_code_sections; i++) {
		const struct elf_section *s = &file->code_sections[i];

		if (address >= s->address && address - s->address < s->size)
			return s;
	}
	return NULL;
}

int code_lines_read(const struct elf_file *file, uint64_t start, uint64_t end,
		    struct code_line **ret, size_t *ret_n)
{
	const struct elf_section *s = section_of(file, start);
	struct code_line *lines;
	size_t n;
	int err;

	if (!s || end <= start)
		return -ENODATA;
	if (end - s->address > s->size)
		end = s->address + s->size;
	n = end - start < CODE_LINES_MAX ? end - start : CODE_LINES_MAX;
	lines = malloc(n * sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	n = disassemble(s->bytes + (start - s->address), start, end, lines, n);
	err = add_names(file, lines, n);
	if (err < 0) {
		free(lines);
		return err;
	}
	*ret = lines;
	*ret_n = n;
	return 0;
}
