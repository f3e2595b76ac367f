// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "machine.h"
#include "rule_set.h"

/* Pages of 4 KiB: a file whose code spans less than 4 GiB. */
#define IMAGE_MAX_PAGES (1U << (32 - DP_PAGE_BITS))

/* Bytes of code at a program's entry that are taken for its start-up code: glibc's have 61. */
#define ENTRY_SIZE 64

#define CELLS(type) ((uint32_t)(sizeof(type) / DP_CELL_SIZE))

/*
 * Rows arrive in ascending order and go straight into their pages. A page
 * remembers the rule in force at its start, so that a row need never be looked
 * for in an earlier page.
 */
struct builder {
	struct rule_set rules;
	struct image_stats stats;
	uint64_t base; /* address of the first page */
	uint16_t rule; /* in force at the end of what was added */
	struct dwarf_delta *rows;
	size_t n_rows, rows_size;
	struct dp_page *pages; /* dp_page.rows counts rows here; cells in the image */
	size_t n_pages, pages_size;
	struct image_refusal *refusals;
	size_t n_refusals, refusals_size;
};

static void builder_done(struct builder *b)
{
	rule_set_done(&b->rules);
	free(b->rows);
	free(b->pages);
	free(b->refusals);
}

static int builder_open_page(struct builder *b)
{
	if (array_reserve(b->pages, b->n_pages, b->pages_size) < 0)
		return -ENOMEM;
	b->pages[b->n_pages++] = (struct dp_page){ .rows = (uint32_t)b->n_rows, .rule = b->rule };
	return 0;
}

/* From pc on, rule number `rule` holds. */
static int builder_add(struct builder *b, uint64_t pc, uint16_t rule)
{
	uint64_t page = (pc - b->base) >> DP_PAGE_BITS;
	uint16_t low = pc & (DP_PAGE_SIZE - 1);

	if (rule == b->rule && b->n_pages > 0)
		return 0;
	while (b->n_pages <= page)
		if (builder_open_page(b) < 0)
			return -ENOMEM;
	b->rule = rule;
	b->stats.n_rows++;
	if (low == 0) {
		b->pages[page].rule = rule;
		return 0;
	}
	if (array_reserve(b->rows, b->n_rows, b->rows_size) < 0)
		return -ENOMEM;
	b->rows[b->n_rows++] = (struct dwarf_delta){ low, rule };
	b->pages[page].n_rows++;
	return 0;
}

static int builder_refuse(struct builder *b, uint64_t start, uint64_t end, enum rule_refusal why)
{
	if (array_reserve(b->refusals, b->n_refusals, b->refusals_size) < 0)
		return -ENOMEM;
	b->refusals[b->n_refusals++] = (struct image_refusal){ start, end, why, { 0 } };
	b->stats.refused[why].rows++;
	b->stats.refused[why].bytes += end - start;
	return builder_add(b, start, RULE_SET_REFUSED);
}

static int builder_add_row(struct builder *b, const struct cfi_span *span,
			   const struct cfi_row *row, bool signal)
{
	struct dp_rule rule;
	struct dp_saves saves;
	bool has_saves;
	enum rule_refusal refusal;
	int number;

	refusal = rule_from_row(row, signal, &rule, &saves, &has_saves);
	if (refusal != RULE_NONE)
		return builder_refuse(b, span->start, span->end, refusal);
	number = rule_set_add(&b->rules, &rule, has_saves ? &saves : NULL);
	if (number == -ENOSPC)
		return builder_refuse(b, span->start, span->end, RULE_TOO_MANY);
	if (number < 0)
		return number;
	b->stats.covered += span->end - span->start;
	return builder_add(b, span->start, (uint16_t)number);
}

static int builder_add_fde(struct builder *b, const struct cfi_section *section,
			   const struct cfi_cie *cie, const struct cfi_fde *fde)
{
	struct cfi_machine m;
	struct cfi_span span;
	int err = 0;

	b->stats.n_fdes++;
	cfi_machine_init(&m, section, cie, fde);
	while (err == 0) {
		switch (cfi_machine_next(&m, &span)) {
		case CFI_STEP_ROW:
			err = builder_add_row(b, &span, &m.row, cie->signal);
			break;
		case CFI_STEP_REFUSED:
			err = builder_refuse(b, m.pc, m.end, RULE_CFI);
			if (err == 0)
				b->refusals[b->n_refusals - 1].cfi = m.refusal;
			return err;
		case CFI_STEP_END:
			return 0;
		}
	}
	return err;
}

/*
 * Padding, or code without unwind information: a neighbour's rule must not
 * answer. But what is executed first has no caller, said or not (psABI 3.4.1):
 * the dynamic linker's entry is such code, and musl's.
 */
static int builder_add_gap(struct builder *b, uint64_t start, uint64_t end, uint64_t entry)
{
	static const struct dp_rule root = {
		.cfa = DP_CFA_REGISTER,
		.cfa_reg = DP_RSP,
		.cfa_offset = 8,
		.ra = { .kind = DP_WHERE_UNDEFINED },
	};
	int number, err;

	err = builder_add(b, start, DP_RULE_NONE);
	if (err < 0 || entry == 0 || entry < start || entry >= end)
		return err;
	/* What follows from it ends in the next page at the latest. */
	if ((entry - b->base) >> DP_PAGE_BITS >= IMAGE_MAX_PAGES - 1)
		return -EFBIG;
	number = rule_set_add(&b->rules, &root, NULL);
	if (number < 0)
		return number;
	err = builder_add(b, entry, (uint16_t)number);
	if (err == 0 && end - entry > ENTRY_SIZE)
		err = builder_add(b, entry + ENTRY_SIZE, DP_RULE_NONE);
	return err;
}

static bool is_inside(const struct cfi_fde *fde, const struct image_extent *extent)
{
	return fde->start >= extent->start && fde->end <= extent->end;
}

/*
 * Where FDEs overlap, the one that starts last holds, and nothing holds behind
 * its end: what libgcc's search in .eh_frame_hdr finds.
 */
static int builder_add_section(struct builder *b, const struct cfi_section *section,
			       const struct cfi_index *index, const struct image_extent *extent)
{
	uint64_t done = 0; /* behind the last address that has a row */

	for (size_t i = 0; i < index->n_fdes; i++) {
		struct cfi_fde fde = index->fdes[i];
		int err = 0;

		if (!is_inside(&fde, extent))
			continue;
		if (i + 1 < index->n_fdes && fde.end > index->fdes[i + 1].start)
			fde.end = index->fdes[i + 1].start;
		if (fde.start == fde.end)
			continue;
		if (done == 0) {
			done = fde.start;
			if (extent->entry != 0 && extent->entry >= extent->start &&
			    extent->entry < done)
				done = extent->entry;
			b->base = done & ~(uint64_t)(DP_PAGE_SIZE - 1);
		}
		if ((fde.end - b->base) >> DP_PAGE_BITS >= IMAGE_MAX_PAGES)
			return -EFBIG;
		if (done < fde.start)
			err = builder_add_gap(b, done, fde.start, extent->entry);
		if (err == 0)
			err = builder_add_fde(b, section, &index->cies[fde.cie], &fde);
		if (err < 0)
			return err;
		done = fde.end;
	}
	return done == 0 ? -ENODATA : builder_add_gap(b, done, extent->end, extent->entry);
}

static uint32_t align_cells(uint32_t cell, uint32_t to)
{
	return (cell + to - 1) & ~(to - 1);
}

/*
 * Give the rows of every page their place from cell on, in pages[].rows.
 * No page's rows lie across two segments of the pool. Returns the cell behind.
 */
static uint32_t place_rows(struct dp_page *pages, size_t n_pages, uint32_t cell)
{
	for (size_t i = 0; i < n_pages; i++) {
		uint32_t n = (pages[i].n_rows + 1U) / 2;

		if (n > 0 && cell / DP_SEGMENT_CELLS != (cell + n - 1) / DP_SEGMENT_CELLS)
			cell = align_cells(cell, DP_SEGMENT_CELLS);
		pages[i].rows = cell;
		cell += n;
	}
	return cell;
}

/*
 * Lay the parts out: header, saves, rules, pages, rows. Rules have the size of
 * four cells and start at a multiple of that, so that none lies across two
 * segments; the saves are near the start of the image's first segment.
 */
static int builder_finish(struct builder *b, struct image *ret)
{
	struct dp_image head = {
		.base = b->base,
		.n_pages = (uint32_t)b->n_pages,
		.n_rules = (uint32_t)b->rules.n_rules,
		.saves = CELLS(struct dp_image),
	};
	_cleanup_free_ uint64_t *cells = NULL;
	const struct dwarf_delta *row = b->rows;

	head.rules = head.saves + (uint32_t)b->rules.n_saves * CELLS(struct dp_saves);
	head.rules = align_cells(head.rules, CELLS(struct dp_rule));
	head.pages = head.rules + head.n_rules * CELLS(struct dp_rule);
	head.n_cells = place_rows(b->pages, b->n_pages, head.pages + head.n_pages);

	cells = calloc(head.n_cells, DP_CELL_SIZE);
	if (!cells)
		return -ENOMEM;
	memcpy(cells, &head, sizeof(head));
	rule_set_copy(&b->rules, cells + head.saves, cells + head.rules);
	memcpy(cells + head.pages, b->pages, b->n_pages * sizeof(*b->pages));
	for (size_t i = 0; i < b->n_pages; i++) {
		size_t n = b->pages[i].n_rows;

		if (n == 0)
			continue;
		memcpy(cells + b->pages[i].rows, row, n * sizeof(*row));
		row += n;
	}
	b->stats.n_rules = head.n_rules;
	b->stats.n_saves = (uint32_t)b->rules.n_saves;
	*ret = (struct image){ steal_ptr(cells), head.n_cells, b->stats, steal_ptr(b->refusals),
			       b->n_refusals };
	return 0;
}

int image_build(const struct cfi_section *section, const struct image_extent *extent,
		struct image *ret)
{
	_cleanup_(builder_done) struct builder b = { .rule = DP_RULE_NONE };
	_cleanup_(cfi_index_done) struct cfi_index index = { 0 };
	int err;

	err = cfi_index_init(&index, section);
	if (err == 0)
		err = rule_set_init(&b.rules);
	if (err == 0)
		err = builder_add_section(&b, section, &index, extent);
	/* The entry's rule may be the last one: it does not hold for what is behind. */
	if (err == 0)
		err = builder_add(&b, extent->end, DP_RULE_NONE);
	if (err < 0)
		return err;
	b.stats.n_bad_records = index.n_refusals;
	return builder_finish(&b, ret);
}

void image_done(struct image *image)
{
	free(image->cells);
	free(image->refusals);
	*image = (struct image){ 0 };
}
