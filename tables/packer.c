// SPDX-License-Identifier: Apache-2.0
#include "packer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "base/array.h"
#include "base/cleanup.h"

#define CELLS(type) ((uint32_t)(sizeof(type) / DP_CELL_SIZE))
#define PAGE_BLOCKS (DP_PAGE_SIZE / DP_BLOCK_ROWS)

int packer_init(struct packer *p, uint64_t start)
{
	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < ARRAY_SIZE(p->recent); i++)
		p->recent[i].word = UINT64_MAX; /* no word has all bits set */
	p->base = start & ~(uint64_t)(DP_PAGE_SIZE - 1);
	p->last = p->base + UINT32_MAX;
	p->pc = p->base;
	p->rule = DP_RULE_NONE;
	return rule_set_init(&p->rules);
}

void packer_done(struct packer *p)
{
	rule_set_done(&p->rules);
	transitions_done(&p->transitions);
	free(p->kept);
}

static int reserve_kept(struct packer *p)
{
	size_t n = (size_t)(p->kept_end - p->kept), size = n ? n + n / 2 : 1024;
	uint32_t *kept = reallocarray(p->kept, size + PACKER_KEPT_MAX, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	p->kept = kept;
	p->kept_end = kept + n;
	p->kept_limit = kept + size;
	return 0;
}

/* Add what was counted lately to the transition. */
static void count_change(struct packer *p, struct packer_change *change)
{
	if (change->count > 0)
		p->transitions.list[change->transition].count += change->count;
	change->count = 0;
}

/* Find out what a change leads to that was not looked up lately. */
static int find_change(struct packer *p, uint64_t word, struct packer_change *change)
{
	int number = rule_set_add_word(&p->rules, word);
	int64_t transition = 0;

	if (number < 0)
		return number;
	if (number != p->rule)
		transition = transitions_add(&p->transitions, p->rule, (uint16_t)number);
	if (transition < 0)
		return (int)transition;
	count_change(p, change);
	*change =
		(struct packer_change){ word, p->rule, (uint16_t)number, (uint32_t)transition, 0 };
	return 0;
}

int packer_add_far(struct packer *p, uint64_t pc, uint64_t word)
{
	struct packer_change *change = packer_change(p, word);
	uint64_t distance = pc - p->pc;
	int err = 0;

	if (change->word != word || change->from != p->rule)
		err = find_change(p, word, change);
	if (err < 0)
		return err;
	if (change->to == p->rule)
		return 0;
	if (pc > p->last)
		return -EFBIG;
	if (p->kept_end >= p->kept_limit && reserve_kept(p) < 0)
		return -ENOMEM;
	*p->kept_end++ = (uint32_t)(distance < PACKER_FAR ? distance : PACKER_FAR) |
			 (change->transition < PACKER_FAR ? change->transition : PACKER_FAR) << 16;
	if (distance >= PACKER_FAR)
		*p->kept_end++ = (uint32_t)distance;
	if (change->transition >= PACKER_FAR)
		*p->kept_end++ = change->to;
	change->count++;
	p->pc = pc;
	p->rule = change->to;
	return 0;
}

/* A row as it was kept. */
struct row {
	uint64_t pc;
	uint16_t rule;
	uint8_t code; /* how its rule is written after that of the row before */
};

/* Reads kept rows, one ahead. */
struct reader {
	const struct packer *packer;
	const uint32_t *at;
	struct row row;
	bool has_row;
};

static void reader_next(struct reader *r)
{
	const struct packer *p = r->packer;
	uint32_t word, distance, transition;

	r->has_row = r->at < p->kept_end;
	if (!r->has_row)
		return;
	word = *r->at++;
	distance = word & UINT16_MAX;
	transition = word >> 16;
	r->row.pc += distance == PACKER_FAR ? *r->at++ : distance;
	if (transition == PACKER_FAR) {
		r->row.rule = (uint16_t)*r->at++;
		r->row.code = DWARF_DELTA_NUMBER;
		return;
	}
	r->row.rule = p->transitions.list[transition].to;
	r->row.code = p->transitions.list[transition].code;
}

/* The image being written. */
struct writer {
	const struct packer *packer;
	struct dp_image head;
	uint8_t *bytes; /* the whole image */
	size_t used, size;
	/* The page being written */
	uint32_t n_pages; /* finished */
	struct dp_page page;
	uint16_t pc; /* of its last row */
	uint16_t rule;
	uint16_t n_anchors;
	size_t n_delta_bytes;
	struct dp_anchor anchors[PAGE_BLOCKS];
	uint8_t deltas[DP_PAGE_SIZE * DWARF_DELTA_MAX_SIZE];
};

static void writer_free(struct writer *w)
{
	if (w)
		free(w->bytes);
	free(w);
}

DEFINE_CLEANUP(struct writer *, writer_free)

static int writer_reserve(struct writer *w, size_t n)
{
	size_t size = w->size + w->size / 2;
	uint8_t *bytes;

	if (w->used + n <= w->size)
		return 0;
	if (size < w->used + n)
		size = w->used + n;
	bytes = realloc(w->bytes, size);
	if (!bytes)
		return -ENOMEM;
	memset(bytes + w->size, 0, size - w->size);
	w->bytes = bytes;
	w->size = size;
	return 0;
}

static uint16_t state_of(const struct writer *w, uint16_t rule)
{
	return w->packer->transitions.state_of[rule];
}

static void writer_begin_page(struct writer *w)
{
	w->page = (struct dp_page){ .state = state_of(w, w->rule) };
	w->pc = 0;
	w->n_anchors = 0;
	w->n_delta_bytes = 0;
}

/* Put the page's data behind what there is; no page's data lies across two segments. */
static int writer_end_page(struct writer *w)
{
	struct dp_page *pages;
	size_t anchors = w->n_anchors * sizeof(struct dp_anchor);
	size_t n = anchors + w->n_delta_bytes;

	if (n > 0) {
		w->used = (w->used + 1) & ~(size_t)1;
		if (w->used / DP_SEGMENT_SIZE != (w->used + n - 1) / DP_SEGMENT_SIZE)
			w->used = (w->used | (DP_SEGMENT_SIZE - 1)) + 1;
		if (writer_reserve(w, n) < 0)
			return -ENOMEM;
		w->page.data = (uint32_t)(w->used / 2);
		memcpy(w->bytes + w->used, w->anchors, anchors);
		memcpy(w->bytes + w->used + anchors, w->deltas, w->n_delta_bytes);
		w->used += n;
	}
	pages = (struct dp_page *)(w->bytes + (size_t)w->head.pages * DP_CELL_SIZE);
	pages[w->n_pages++] = w->page;
	return 0;
}

/* Write a row of the current page, not at its start; `padding`: and the next one, by alignment. */
static void writer_put(struct writer *w, const struct row *row, bool padding)
{
	uint16_t pc = row->pc & (DP_PAGE_SIZE - 1);
	uint32_t distance = (uint32_t)(pc - w->pc);
	uint8_t code = padding ? DWARF_DELTA_PADDING : row->code;
	uint8_t *to = w->deltas + w->n_delta_bytes, *start = to;

	if (w->page.n_rows > 0 && w->page.n_rows % DP_BLOCK_ROWS == 0)
		w->anchors[w->n_anchors++] = (struct dp_anchor){ w->pc, state_of(w, w->rule),
								 (uint16_t)w->n_delta_bytes };
	to++;
	if (distance < 15) {
		*start = (uint8_t)(distance - 1);
	} else if (distance < 15 + 256) {
		*start = DWARF_DELTA_BYTE;
		*to++ = (uint8_t)(distance - 15);
	} else {
		*start = DWARF_DELTA_WORD;
		*to++ = (uint8_t)distance;
		*to++ = (uint8_t)(distance >> 8);
	}
	*start |= (uint8_t)(code << 4);
	if (code == DWARF_DELTA_NUMBER) {
		*to++ = (uint8_t)state_of(w, row->rule);
		*to++ = (uint8_t)(state_of(w, row->rule) >> 8);
	}
	w->n_delta_bytes += (size_t)(to - start);
	w->page.n_rows++;
	w->pc = pc;
	w->rule = row->rule;
}

/* Do a function's end and the next one's start make one delta? */
static bool is_padding(const struct writer *w, const struct row *row, const struct reader *next)
{
	uint64_t aligned = (row->pc + DWARF_DELTA_ALIGN - 1) & ~(uint64_t)(DWARF_DELTA_ALIGN - 1);

	return row->rule == DP_RULE_NONE && next->has_row && next->row.pc == aligned &&
	       next->row.code == 0 && next->row.pc >> DP_PAGE_BITS == row->pc >> DP_PAGE_BITS;
}

static int writer_put_rows(struct writer *w)
{
	struct reader next = { .packer = w->packer, .at = w->packer->kept, .row.pc = w->head.base };

	writer_begin_page(w);
	reader_next(&next);
	while (next.has_row) {
		struct row row = next.row;

		reader_next(&next);
		while (w->n_pages < (row.pc - w->head.base) >> DP_PAGE_BITS) {
			if (writer_end_page(w) < 0)
				return -ENOMEM;
			writer_begin_page(w);
		}
		if ((row.pc & (DP_PAGE_SIZE - 1)) == 0) {
			w->rule = row.rule;
			w->page.state = state_of(w, row.rule);
			continue;
		}
		if (is_padding(w, &row, &next)) {
			writer_put(w, &row, true);
			w->rule = next.row.rule;
			w->pc = next.row.pc & (DP_PAGE_SIZE - 1);
			reader_next(&next);
			continue;
		}
		writer_put(w, &row, false);
	}
	return writer_end_page(w);
}

/* Bytes in whole cells. */
static uint32_t cells_of(size_t bytes)
{
	return (uint32_t)((bytes + DP_CELL_SIZE - 1) / DP_CELL_SIZE);
}

/* Lay out what is in front of the pages' data, and write all that is known of it. */
static int writer_put_head(struct writer *w)
{
	const struct packer *p = w->packer;
	const struct transitions *t = &p->transitions;
	struct dp_image *h = &w->head;
	uint64_t *cells;

	h->base = p->base;
	h->n_pages = (uint32_t)((p->pc - p->base) >> DP_PAGE_BITS) + 1;
	h->n_rules = (uint32_t)p->rules.n_rules;
	h->rules = CELLS(struct dp_image);
	h->full = h->rules + h->n_rules;
	h->saves = h->full + (uint32_t)p->rules.n_full * CELLS(struct dp_rule);
	h->programs = h->saves + (uint32_t)p->rules.n_saves * CELLS(struct dp_saves);
	h->states = h->programs + (uint32_t)p->rules.program_cells;
	h->pages = h->states + cells_of(t->n_states * sizeof(uint16_t));

	w->used = (size_t)(h->pages + h->n_pages) * DP_CELL_SIZE;
	w->bytes = calloc(1, w->used + p->n_rows * 2);
	if (!w->bytes)
		return -ENOMEM;
	w->size = w->used + p->n_rows * 2;
	cells = (uint64_t *)w->bytes;
	memcpy(cells + h->rules, p->rules.words, p->rules.n_rules * sizeof(*p->rules.words));
	rule_set_copy(&p->rules, (struct dp_rule *)(cells + h->full),
		      (struct dp_saves *)(cells + h->saves), cells + h->programs);
	memcpy(cells + h->states, t->states, t->n_states * sizeof(*t->states));
	return 0;
}

static void count_rows(struct packer *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->recent); i++)
		count_change(p, &p->recent[i]);
	for (size_t i = 0; i < p->transitions.n; i++)
		p->n_rows += p->transitions.list[i].count;
}

int packer_finish(struct packer *p, uint64_t **ret_cells, uint32_t *ret_n_cells)
{
	_cleanup_(writer_freep) struct writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->packer = p;
	count_rows(p);
	err = transitions_rank(&p->transitions, p->rules.n_rules);
	if (err == 0)
		err = writer_put_head(w);
	if (err == 0)
		err = writer_put_rows(w);
	if (err == 0)
		err = writer_reserve(w, DP_CELL_SIZE);
	if (err < 0)
		return err;
	w->head.n_cells = cells_of(w->used);
	memcpy(w->bytes, &w->head, sizeof(w->head));
	*ret_n_cells = w->head.n_cells;
	*ret_cells = realloc(w->bytes, (size_t)w->head.n_cells * DP_CELL_SIZE);
	if (!*ret_cells)
		return -ENOMEM;
	w->bytes = NULL;
	return 0;
}
