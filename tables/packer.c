// SPDX-License-Identifier: Apache-2.0
#include "tables/packer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "bpf/abi.h"
#include "tables/page.h"

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
	size_t n = (size_t)(p->kept_end - p->kept), size = n + n / 32 + 4096;
	uint32_t *kept = reallocarray(p->kept, size + PACKER_KEPT_MAX, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	p->kept = kept;
	p->kept_end = kept + n;
	p->kept_limit = kept + size;
	return 0;
}

/* Adds the recent count to the transition. */
static void count_change(struct packer *p, struct packer_change *change)
{
	struct transition *t;

	if (change->count == 0)
		return;
	t = &p->transitions.list[change->transition];
	t->count += change->count;
	t->bytes += change->bytes;
	change->count = 0;
	change->bytes = 0;
}

/* Finds the target of a change that was not looked up recently. */
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
	*change = (struct packer_change){
		.word = word,
		.from = p->rule,
		.to = (uint16_t)number,
		.transition = (uint32_t)transition,
	};
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
	change->bytes += distance;
	p->pc = pc;
	p->rule = change->to;
	return 0;
}

/* Where a transition leads, in compact form. */
struct arrow {
	uint16_t to;
	uint8_t code;
};

/* Reads stored rows, page by page. */
struct reader {
	const uint32_t *at, *end; /* stored rows */
	const struct arrow *arrows;
	uint64_t pc;      /* of the last row, from the first page's start */
	uint32_t n_pages; /* read so far */
	struct page page;
};

/* Reads the next page. There is one while r->n_pages is less than their number. */
static void reader_next(struct reader *r)
{
	const uint32_t *at = r->at;
	struct page *page = &r->page;
	struct page_row *row = page->rows;
	uint64_t pc = r->pc, end = (uint64_t)++r->n_pages << DP_PAGE_BITS;

	if (page->n_rows > 0)
		page->rule = page->rows[page->n_rows - 1].rule;
	for (; at < r->end; at++) {
		uint32_t word = *at, distance = word & UINT16_MAX, transition = word >> 16;
		struct arrow arrow = { .code = DWARF_DELTA_NUMBER };

		if (distance == PACKER_FAR)
			distance = at[1];
		if (pc + distance >= end)
			break;
		pc += distance;
		at += (word & UINT16_MAX) == PACKER_FAR;
		if (transition == PACKER_FAR)
			arrow.to = (uint16_t) * ++at;
		else
			arrow = r->arrows[transition];
		row->pc = pc & (DP_PAGE_SIZE - 1);
		row->rule = arrow.to;
		row->code = arrow.code;
		if (row->pc == 0)
			page->rule = arrow.to;
		else
			row++;
	}
	page->n_rows = (uint16_t)(row - page->rows);
	r->at = at;
	r->pc = pc;
}

/* A rule that holds in fewer bytes of code hardly ever starts a block. */
#define START_WORTH 256

/* The image being written. */
struct writer {
	const struct packer *packer;
	struct reader reader;
	struct dp_image head;
	struct arrow *arrows;
	uint8_t *bytes; /* the whole image */
	size_t used, size;
	uint8_t *start_of;               /* dp_anchor.start, by rule */
	uint16_t starts[DP_START_APART]; /* rules */
	size_t n_chosen;                 /* of these */
	uint8_t data[PAGE_MAX_DATA];     /* of one page */
};

static void writer_free(struct writer *w)
{
	if (w) {
		free(w->arrows);
		free(w->bytes);
		free(w->start_of);
	}
	free(w);
}

DEFINE_CLEANUP(struct writer *, writer_free)

static int writer_init(struct writer *w, const struct packer *p)
{
	const struct transitions *t = &p->transitions;
	size_t n = t->n < PACKER_FAR ? t->n : PACKER_FAR;

	w->packer = p;
	w->head.base = p->base;
	w->head.n_pages = (uint32_t)((p->pc - p->base) >> DP_PAGE_BITS) + 1;
	w->head.n_rules = (uint32_t)p->rules.n_rules;
	w->start_of = malloc(p->rules.n_rules);
	w->arrows = calloc(n + 1, sizeof(*w->arrows));
	if (!w->start_of || !w->arrows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		w->arrows[i] = (struct arrow){ t->list[i].to, t->list[i].code };
	w->reader.at = p->kept;
	w->reader.end = p->kept_end;
	w->reader.arrows = w->arrows;
	w->reader.page.rule = DP_RULE_NONE;
	return 0;
}

static int writer_reserve(struct writer *w, size_t n)
{
	size_t size = w->size + w->size / 8;
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

/* Most code first, then by number, so that equal input gives equal images. */
static int start_compare(const void *a, const void *b, void *arg)
{
	uint16_t x = *(const uint16_t *)a, y = *(const uint16_t *)b;
	const uint64_t *bytes = arg;

	if (bytes[x] != bytes[y])
		return bytes[x] > bytes[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/*
 * Chooses the rules with a number as a block's start. A number costs two bytes, and saves two each
 * time. Blocks start all over the code, so the rules that hold in most of it are most frequent.
 */
static int writer_choose_starts(struct writer *w)
{
	const struct transitions *t = &w->packer->transitions;
	size_t n_rules = w->head.n_rules;
	_cleanup_free_ uint64_t *bytes = calloc(n_rules, sizeof(*bytes));
	_cleanup_free_ uint16_t *rules = calloc(n_rules, sizeof(*rules));

	if (!bytes || !rules)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		bytes[t->list[i].from] += t->list[i].bytes;
	for (size_t i = 0; i < n_rules; i++)
		rules[i] = (uint16_t)i;
	qsort_r(rules, n_rules, sizeof(*rules), start_compare, bytes);
	memset(w->start_of, DP_START_APART, n_rules);
	for (size_t i = 0; i < n_rules && i < DP_START_APART; i++) {
		if (bytes[rules[i]] < START_WORTH)
			break;
		w->start_of[rules[i]] = (uint8_t)i;
		w->starts[w->n_chosen++] = rules[i];
	}
	return 0;
}

/* Appends the page's data. No page's data crosses a segment boundary. */
static int writer_put_page(struct writer *w, struct dp_page *page)
{
	const struct page_codes codes = { w->packer->transitions.state_of, w->start_of };
	size_t n;

	page->block_bits = page_block_bits(&w->reader.page);
	n = page_write(&w->reader.page, page->block_bits, &codes, w->data, &page->stride);
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
	const struct page *rows = &w->reader.page;

	for (uint32_t i = 0; i < w->head.n_pages; i++) {
		struct dp_page page = { 0 };
		int err = 0;

		reader_next(&w->reader);
		page.state = w->packer->transitions.state_of[rows->rule];
		if (rows->n_rows > 0)
			err = writer_put_page(w, &page);
		if (err < 0)
			return err;
		memcpy(w->bytes + (size_t)(w->head.pages + i) * DP_CELL_SIZE, &page, sizeof(page));
	}
	return 0;
}

/* The number of cells for so many bytes. */
static uint32_t cells_of(size_t bytes)
{
	return (uint32_t)((bytes + DP_CELL_SIZE - 1) / DP_CELL_SIZE);
}

/* Lays out the parts before the pages' data, and writes those that are known. */
static int writer_put_head(struct writer *w)
{
	const struct packer *p = w->packer;
	const struct transitions *t = &p->transitions;
	struct dp_image *h = &w->head;
	uint64_t *cells;
	uint16_t *starts;

	h->rules = CELLS(struct dp_image);
	h->runtime_kind = (__u16)p->runtime_kind;
	if (runtime_is_known(h->runtime_kind))
		h->rules += CELLS(struct dp_runtime_image);
	h->full = h->rules + h->n_rules;
	h->saves = h->full + (uint32_t)p->rules.n_full * CELLS(struct dp_rule);
	h->programs = h->saves + (uint32_t)p->rules.n_saves * CELLS(struct dp_saves);
	h->states = h->programs + (uint32_t)p->rules.program_cells;
	h->starts = h->states + cells_of(t->n_states * sizeof(uint16_t));
	h->pages = h->starts + cells_of(w->n_chosen * sizeof(uint16_t));
	h->labels = p->labels;
	h->labels_form = (__u8)p->labels_form;
	h->other_labels = (__u8)p->other_labels;
	h->variable = p->variable;

	w->used = (size_t)(h->pages + h->n_pages) * DP_CELL_SIZE;
	w->size = w->used + p->n_rows + p->n_rows / 2;
	w->bytes = calloc(1, w->size);
	if (!w->bytes)
		return -ENOMEM;
	cells = (void *)w->bytes;
	if (runtime_is_known(h->runtime_kind))
		memcpy(cells + CELLS(*h), p->runtime, sizeof(*p->runtime));
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
	int err;

	if (!w)
		return -ENOMEM;
	count_rows(p);
	err = transitions_rank(&p->transitions, p->rules.n_rules);
	if (err == 0)
		err = writer_init(w, p);
	if (err == 0)
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
