// SPDX-License-Identifier: Apache-2.0
#include "sandbox/table_view.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_labels.h"
#include "log/clock.h"
#include "tables/decode.h"

const struct table_section *table_view_sections(const struct table_view *v)
{
	return (const void *)(v + 1);
}

const struct image_refusal *table_view_refusals(const struct table_view *v)
{
	return (const void *)(table_view_sections(v) + v->n_sections);
}

const char *table_view_rows(const struct table_view *v)
{
	return (const char *)(table_view_refusals(v) + v->n_refusals);
}

/* The view as it grows, and what its rows are compared with. */
struct making {
	struct table_view *view;
	size_t size, room;
	/* Sections ascend as rows do: the first that may contain the next row. */
	size_t section;
	FILE *to; /* NULL: no rows are wanted */
	bool regs;
};

static struct table_section *sections_of(struct table_view *v)
{
	return (struct table_section *)(v + 1);
}

static void cover(struct making *m, uint64_t from, uint64_t end)
{
	struct table_section *s = sections_of(m->view);
	const size_t n = m->view->n_sections;

	while (m->section < n && s[m->section].address + s[m->section].size <= from)
		m->section++;
	for (size_t i = m->section; i < n && s[i].address < end; i++) {
		uint64_t first = s[i].address > from ? s[i].address : from;
		uint64_t last = s[i].address + s[i].size;

		if (last > end)
			last = end;
		if (first < last)
			s[i].covered += last - first;
	}
}

static int add_row(const struct image_row *row, void *arg)
{
	struct making *m = arg;

	m->view->n_rows++;
	if (row->rule.cfa != DP_CFA_NONE)
		cover(m, row->start, row->end);
	if (m->to)
		image_row_print(row, m->regs, m->to);
	return 0;
}

/* Behind the view; it may move. Large blocks grow without being copied, unlike those of open_memstream(). */
static ssize_t write_text(void *arg, const char *text, size_t size)
{
	struct making *m = arg;

	if (m->room - m->size < size) {
		size_t room = m->room + m->room / 2 + size;
		void *p = realloc(m->view, room);

		if (!p)
			return 0;
		m->view = p;
		m->room = room;
	}
	memcpy((char *)m->view + m->size, text, size);
	m->size += size;
	m->view->rows_size += size;
	return (ssize_t)size;
}

static int add_rows(struct making *m, const struct image *image, enum table_rows rows)
{
	const cookie_io_functions_t functions = { .write = write_text };
	int err = 0;

	m->regs = rows == TABLE_ROWS_WITH_REGS;
	if (rows != TABLE_NO_ROWS) {
		m->to = fopencookie(m, "w", functions);
		if (!m->to)
			return -ENOMEM;
	}
	if (image->n_cells > 0)
		image_for_each_row(image, add_row, m);
	if (m->to && (ferror(m->to) || fflush(m->to) == EOF))
		err = -ENOMEM;
	if (m->to)
		fclose(m->to);
	return err;
}

static void add_sections(struct table_view *v, const struct elf_file *file)
{
	struct table_section *s = sections_of(v);

	for (size_t i = 0; i < v->n_sections; i++) {
		snprintf(s[i].name, sizeof(s[i].name), "%s", file->code_sections[i].name);
		s[i].address = file->code_sections[i].address;
		s[i].size = file->code_sections[i].size;
	}
}

static void add_labels(struct table_view *v, const struct image *image)
{
	FILE *to = fmemopen(v->labels_at, sizeof(v->labels_at), "w");

	snprintf(v->labels, sizeof(v->labels), "%s", image_labels_word(image));
	if (!to)
		return;
	image_labels_print(image, to);
	fclose(to);
	v->labels_at[sizeof(v->labels_at) - 1] = '\0';
}

/* Member by member: bytes between them remain 0. */
static void add_refusals(struct table_view *v, const struct image *image)
{
	struct image_refusal *to = (struct image_refusal *)(sections_of(v) + v->n_sections);

	for (size_t i = 0; i < v->n_refusals; i++) {
		to[i].start = image->refusals[i].start;
		to[i].end = image->refusals[i].end;
		to[i].why = image->refusals[i].why;
		to[i].cfi.reason = image->refusals[i].cfi.reason;
		to[i].cfi.offset = image->refusals[i].cfi.offset;
	}
}

static int begin(struct making *m, const struct elf_file *file, const struct image *image)
{
	struct table_view *v;

	m->size = sizeof(*v) + file->n_code_sections * sizeof(struct table_section) +
		  image->n_refusals * sizeof(struct image_refusal);
	m->room = m->size;
	m->view = v = calloc(1, m->size);
	if (!v)
		return -ENOMEM;
	snprintf(v->build_id, sizeof(v->build_id), "%s", file->build_id);
	snprintf(v->packer, sizeof(v->packer), "%s", file->packer ? file->packer : "");
	v->source = file->source;
	v->is_debug_frame = file->cfi.debug_frame;
	v->source_size = file->cfi.size;
	v->beside_size = file->code.fallback.size;
	v->image_size = (uint64_t)image->n_cells * DP_CELL_SIZE;
	v->stats = image->stats;
	v->n_sections = file->n_code_sections;
	v->n_refusals = image->n_refusals;
	add_sections(v, file);
	add_refusals(v, image);
	add_labels(v, image);
	return 0;
}

static void add_up(struct table_view *v)
{
	for (size_t i = 0; i < v->n_sections; i++) {
		v->code_bytes += table_view_sections(v)[i].size;
		v->covered_bytes += table_view_sections(v)[i].covered;
	}
}

int table_view_make(const struct elf_file *file, enum table_rows rows, struct table_view **ret,
		    size_t *ret_size)
{
	_cleanup_(image_done) struct image image = { 0 };
	struct image_input input = file->code;
	uint64_t start = clock_now_ns(), build_ns;
	struct making m = { 0 };
	int err;

	input.labels_form = elf_labels_find(file, &input.variable, &input.other_labels);
	err = image_build(&file->cfi, &input, &image);
	build_ns = clock_now_ns() - start;
	if (err < 0 && err != -ENODATA)
		return err;
	err = begin(&m, file, &image);
	if (err == 0)
		err = add_rows(&m, &image, rows);
	if (err < 0) {
		free(m.view);
		return err;
	}
	m.view->build_ns = build_ns;
	add_up(m.view);
	*ret = m.view;
	*ret_size = m.size;
	return 0;
}

static bool is_printable(const char *text, size_t size)
{
	size_t n = strnlen(text, size);

	for (size_t i = 0; i < n; i++)
		if (!isprint((unsigned char)text[i]))
			return false;
	return n < size;
}

static bool are_rows(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!isprint((unsigned char)text[i]) && text[i] != '\n')
			return false;
	return size == 0 || text[size - 1] == '\n';
}

static bool are_sections(const struct table_section *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!memchr(s[i].name, '\0', sizeof(s[i].name)) || s[i].covered > s[i].size)
			return false;
	return true;
}

static bool are_refusals(const struct image_refusal *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (r[i].why <= RULE_NONE || r[i].why >= RULE_N_REFUSALS ||
		    r[i].cfi.reason >= CFI_N_REASONS || r[i].start > r[i].end)
			return false;
	return true;
}

/* Are the numbers those of just so many bytes? */
static bool is_whole(const struct table_view *v, size_t size)
{
	size_t left = size - sizeof(*v);

	if (v->n_sections > left / sizeof(struct table_section))
		return false;
	left -= v->n_sections * sizeof(struct table_section);
	if (v->n_refusals > left / sizeof(struct image_refusal))
		return false;
	return left - v->n_refusals * sizeof(struct image_refusal) == v->rows_size;
}

bool table_view_is_sound(const struct table_view *v, size_t size)
{
	return size >= sizeof(*v) && is_whole(v, size) &&
	       is_printable(v->build_id, sizeof(v->build_id)) &&
	       is_printable(v->packer, sizeof(v->packer)) &&
	       is_printable(v->labels, sizeof(v->labels)) &&
	       is_printable(v->labels_at, sizeof(v->labels_at)) && v->source < ELF_N_SOURCES &&
	       v->is_debug_frame <= 1 && v->covered_bytes <= v->code_bytes &&
	       are_sections(table_view_sections(v), v->n_sections) &&
	       are_refusals(table_view_refusals(v), v->n_refusals) &&
	       are_rows(table_view_rows(v), v->rows_size);
}
