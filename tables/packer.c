// SPDX-License-Identifier: Apache-2.0
#include "packer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "page.h"

#define CELLS(type) ((uint32_t)(sizeof(type) / DP_CELL_SIZE))

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

/* Reads kept rows, page by page. */
struct reader {
	const struct packer *packer;
	const uint32_t *at;
	uint64_t pc;      /* of the last row, from the first page's start */
	uint32_t n_pages; /* read */
	struct page page; /* the last one */
};

/* One kept row, at r->pc. */
static void read_row(struct reader *r, uint32_t word)
{
	const struct packer *p = r->packer;
	uint32_t transition = word >> 16;
	struct page *page = &r->page;
	struct page_row *row = &page->rows[page->n_rows];

	if ((word & UINT16_MAX) == PACKER_FAR)
		r->at++;
	row->pc = r->pc & (DP_PAGE_SIZE - 1);
	if (transition == PACKER_FAR) {
		row->rule = (uint16_t)*r->at++;
		row->code = DWARF_DELTA_NUMBER;
	} else {
		row->rule = p->transitions.list[transition].to;
		row->code = p->transitions.list[transition].code;
	}
	if (row->pc == 0)
		page->rule = row->rule;
	else
		page->n_rows++;
}

/* Read the next page; there is one as long as r->n_pages is below their number. */
static void reader_next(struct reader *r)
{
	const struct packer *p = r->packer;
	struct page *page = &r->page;
	uint64_t end = (uint64_t)++r->n_pages << DP_PAGE_BITS;

	if (page->n_rows > 0)
		page->rule = page->rows[page->n_rows - 1].rule;
	page->n_rows = 0;
	while (r->at < p->kept_end) {
		uint32_t word = *r->at, distance = word & UINT16_MAX;

		if (distance == PACKER_FAR)
			distance = r->at[1];
		if (r->pc + distance >= end)
			break;
		r->pc += distance;
		r->at++;
		read_row(r, word);
	}
}

/* The image being written. */
struct writer {
	const struct packer *packer;
	struct reader reader;
	struct dp_image head;
	struct dp_page *pages; /* to be copied to their place at the end */
	uint8_t *bytes;        /* the whole image */
	size_t used, size;
	uint32_t *n_starts;              /* how many blocks start with it, by rule */
	uint8_t *start_of;               /* dp_anchor.start, by rule */
	uint16_t starts[DP_START_APART]; /* rules */
	size_t n_chosen;                 /* of them */
	uint8_t data[PAGE_MAX_DATA];     /* of a page */
};

static void writer_free(struct writer *w)
{
	if (w) {
		free(w->pages);
		free(w->bytes);
		free(w->n_starts);
		free(w->start_of);
	}
	free(w);
}

DEFINE_CLEANUP(struct writer *, writer_free)

static int writer_init(struct writer *w, const struct packer *p)
{
	w->packer = p;
	w->head.base = p->base;
	w->head.n_pages = (uint32_t)((p->pc - p->base) >> DP_PAGE_BITS) + 1;
	w->head.n_rules = (uint32_t)p->rules.n_rules;
	w->pages = calloc(w->head.n_pages, sizeof(*w->pages));
	w->n_starts = calloc(p->rules.n_rules, sizeof(*w->n_starts));
	w->start_of = malloc(p->rules.n_rules);
	return w->pages && w->n_starts && w->start_of ? 0 : -ENOMEM;
}

static void writer_rewind(struct writer *w)
{
	w->reader.packer = w->packer;
	w->reader.at = w->packer->kept;
	w->reader.pc = 0;
	w->reader.n_pages = 0;
	w->reader.page.rule = DP_RULE_NONE;
	w->reader.page.n_rows = 0;
}

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

static void count_start(uint16_t rule, void *arg)
{
	struct writer *w = arg;

	w->n_starts[rule]++;
}

/* Divide all pages into blocks, and count what these start with. */
static void writer_divide(struct writer *w)
{
	const struct page *page = &w->reader.page;

	writer_rewind(w);
	for (uint32_t i = 0; i < w->head.n_pages; i++) {
		reader_next(&w->reader);
		w->pages[i].state = w->packer->transitions.state_of[page->rule];
		if (page->n_rows == 0)
			continue;
		w->pages[i].block_bits = page_block_bits(page);
		page_for_each_start(page, w->pages[i].block_bits, count_start, w);
	}
}

/* The most frequent first; then by number, so that equal input gives equal images. */
static int start_compare(const void *a, const void *b, void *arg)
{
	uint16_t x = *(const uint16_t *)a, y = *(const uint16_t *)b;
	const uint32_t *n_starts = arg;

	if (n_starts[x] != n_starts[y])
		return n_starts[x] > n_starts[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Choose what has a number as a block's start: it costs two bytes, and saves them each time. */
static int writer_choose_starts(struct writer *w)
{
	size_t n_rules = w->head.n_rules, n = 0;
	_cleanup_free_ uint16_t *rules = calloc(n_rules, sizeof(*rules));

	if (!rules)
		return -ENOMEM;
	for (size_t i = 0; i < n_rules; i++)
		if (w->n_starts[i] > 1)
			rules[n++] = (uint16_t)i;
	qsort_r(rules, n, sizeof(*rules), start_compare, w->n_starts);
	memset(w->start_of, DP_START_APART, n_rules);
	for (size_t i = 0; i < n && i < DP_START_APART; i++) {
		w->start_of[rules[i]] = (uint8_t)i;
		w->starts[w->n_chosen++] = rules[i];
	}
	return 0;
}

/* Put the page's data behind what there is; no page's data lies across two segments. */
static int writer_put_page(struct writer *w, struct dp_page *page)
{
	const struct page_codes codes = { w->packer->transitions.state_of, w->start_of };
	size_t n = page_write(&w->reader.page, page->block_bits, &codes, w->data, &page->stride);

	if (w->used / DP_SEGMENT_SIZE != (w->used + n - 1) / DP_SEGMENT_SIZE)
		w->used = (w->used | (DP_SEGMENT_SIZE - 1)) + 1;
	if (w->used + n > UINT32_MAX)
		return -EFBIG;
	if (writer_reserve(w, n) < 0)
		return -ENOMEM;
	page->data = (uint32_t)w->used;
	memcpy(w->bytes + w->used, w->data, n);
	w->used += n;
	return 0;
}

static int writer_put_pages(struct writer *w)
{
	int err = 0;

	writer_rewind(w);
	for (uint32_t i = 0; err == 0 && i < w->head.n_pages; i++) {
		reader_next(&w->reader);
		if (w->reader.page.n_rows > 0)
			err = writer_put_page(w, &w->pages[i]);
	}
	if (err < 0)
		return err;
	memcpy(w->bytes + (size_t)w->head.pages * DP_CELL_SIZE, w->pages,
	       w->head.n_pages * sizeof(*w->pages));
	return 0;
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
	uint16_t *starts;

	h->rules = CELLS(struct dp_image);
	h->full = h->rules + h->n_rules;
	h->saves = h->full + (uint32_t)p->rules.n_full * CELLS(struct dp_rule);
	h->programs = h->saves + (uint32_t)p->rules.n_saves * CELLS(struct dp_saves);
	h->states = h->programs + (uint32_t)p->rules.program_cells;
	h->starts = h->states + cells_of(t->n_states * sizeof(uint16_t));
	h->pages = h->starts + cells_of(w->n_chosen * sizeof(uint16_t));

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
	starts = (uint16_t *)(cells + h->starts);
	for (size_t i = 0; i < w->n_chosen; i++)
		starts[i] = t->state_of[w->starts[i]];
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
	int err = w ? writer_init(w, p) : -ENOMEM;

	if (err < 0)
		return err;
	count_rows(p);
	err = transitions_rank(&p->transitions, p->rules.n_rules);
	if (err < 0)
		return err;
	writer_divide(w);
	err = writer_choose_starts(w);
	if (err == 0)
		err = writer_put_head(w);
	if (err == 0)
		err = writer_put_pages(w);
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
