// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "known_function.h"
#include "machine.h"
#include "packer.h"
#include "rule_word.h"
#include "word_machine.h"

/* Bytes of code at a program's entry that are taken for its start-up code: glibc's have 61. */
#define ENTRY_SIZE 64

/* What is found out once about a CIE. */
struct initial {
	struct rule_word word; /* of its initial row */
	uint64_t short_word;
	bool is_short; /* its FDEs are tried with word_machine, starting from short_word */
};

/* A section that is read, its records, and how far. */
struct source {
	const struct cfi_section *section;
	struct cfi_index index;
	struct initial *initial; /* by CIE */
	size_t next;             /* of the FDEs: those before are done */
};

/* Rows arrive in ascending order and are passed on to the packer. */
struct builder {
	struct packer packer;
	struct rule_word word; /* the current row's */
	struct source first, beside;
	size_t range; /* of the code that is looked at: those before are done */
	struct image_stats stats;
	struct image_refusal *refusals;
	size_t n_refusals, refusals_size;
};

static void source_done(struct source *s)
{
	cfi_index_done(&s->index);
	free(s->initial);
}

static void builder_free(struct builder *b)
{
	packer_done(&b->packer);
	source_done(&b->first);
	source_done(&b->beside);
	free(b->refusals);
	free(b);
}

DEFINE_CLEANUP(struct builder *, builder_free)

static int builder_refuse(struct builder *b, uint64_t start, uint64_t end, enum rule_refusal why)
{
	if (array_reserve(b->refusals, b->n_refusals, b->refusals_size) < 0)
		return -ENOMEM;
	b->refusals[b->n_refusals++] = (struct image_refusal){ start, end, why, { 0 } };
	b->stats.refused[why].rows++;
	b->stats.refused[why].bytes += end - start;
	return packer_add(&b->packer, start, RULE_SET_REFUSED);
}

/* The number of a row's rule that no word can express. */
static int builder_number(struct builder *b, const struct cfi_row *row, bool signal,
			  enum rule_refusal *ret_refusal)
{
	struct dp_rule rule;
	struct dp_saves saves;
	struct rule_programs programs;
	bool has_saves;
	int number;

	*ret_refusal = rule_from_row(row, signal, &rule, &saves, &has_saves, &programs);
	if (*ret_refusal != RULE_NONE)
		return 0;
	number = rule_set_add(&b->packer.rules, &rule, has_saves ? &saves : NULL, &programs);
	if (number == -ENOSPC) {
		*ret_refusal = RULE_TOO_MANY;
		return 0;
	}
	return number;
}

static int builder_add_row(struct builder *b, const struct cfi_span *span, struct cfi_machine *m,
			   bool signal)
{
	enum rule_refusal refusal = RULE_NONE;
	int number;

	rule_word_update(&b->word, &m->row, m->changed);
	m->changed = 0;
	if (b->word.odd == 0 && !signal)
		number = rule_set_add_word(&b->packer.rules, b->word.word);
	else
		number = builder_number(b, &m->row, signal, &refusal);
	if (number == -ENOSPC)
		refusal = RULE_TOO_MANY;
	if (refusal != RULE_NONE)
		return builder_refuse(b, span->start, span->end, refusal);
	if (number < 0)
		return number;
	b->stats.covered += span->end - span->start;
	return packer_add(&b->packer, span->start, (uint16_t)number);
}

/*
 * The rows of an FDE as far as word_machine can tell; *ret_done is where that ends,
 * nearly always the FDE's end.
 */
static int builder_add_words(struct builder *b, const struct source *s, const struct cfi_fde *fde,
			     uint64_t *ret_done)
{
	struct word_machine m;
	uint64_t done = fde->start;
	int err = 0;

	*ret_done = done;
	if (!word_machine_init(&m, s->section, fde, s->initial[fde->cie].short_word))
		return 0;
	while (done < fde->end) {
		enum word_step step = word_machine_next(&m);

		if (step == WORD_STEP_OTHER)
			break;
		err = packer_add_word(&b->packer, done, m.word);
		if (err < 0)
			break;
		done = step == WORD_STEP_END || m.pc > fde->end ? fde->end : m.pc;
	}
	b->stats.covered += done - fde->start;
	*ret_done = done;
	/* Which rows have no number any more, and why, is said by those who know all of it. */
	return err == -ENOSPC ? 0 : err;
}

/* The rows of an FDE from an address on. */
static int builder_add_rows(struct builder *b, const struct source *s, const struct cfi_fde *fde,
			    uint64_t from)
{
	const struct cfi_cie *cie = &s->index.cies[fde->cie];
	struct cfi_machine m;
	struct cfi_span span;
	int err = 0;

	cfi_machine_init(&m, s->section, cie, fde);
	b->word = s->initial[fde->cie].word;
	m.changed = 0;
	while (err == 0) {
		switch (cfi_machine_next(&m, &span)) {
		case CFI_STEP_ROW:
			if (span.end <= from)
				break;
			if (span.start < from)
				span.start = from;
			err = builder_add_row(b, &span, &m, cie->signal);
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

/* The rows of an FDE, but in the part where the known function's rule holds. */
static int builder_add_known_function(struct builder *b, const struct source *s,
				      const struct cfi_fde *fde, const struct known_function *known)
{
	struct cfi_fde before = *fde;
	int number, err = 0;

	before.end = known->start;
	if (before.start < before.end)
		err = builder_add_rows(b, s, &before, before.start);
	if (err < 0)
		return err;
	number = rule_set_add(&b->packer.rules, &known->rule, NULL, &known->programs);
	if (number == -ENOSPC)
		return builder_refuse(b, known->start, known->end, RULE_TOO_MANY);
	if (number < 0)
		return number;
	b->stats.covered += known->end - known->start;
	err = packer_add(&b->packer, known->start, (uint16_t)number);
	if (err == 0 && known->end < fde->end)
		err = builder_add_rows(b, s, fde, known->end);
	return err;
}

/* rt_sigreturn's frame, in the words of glibc's __restore_rt, which rule.c checks. */
static struct dp_rule signal_rule(int32_t sigcontext)
{
	return (struct dp_rule){
		.cfa = DP_CFA_SIGNAL,
		.cfa_reg = DP_RSP,
		.cfa_offset = sigcontext,
		.ra = { .kind = DP_WHERE_MEMORY, .reg = DP_RSP, .offset = sigcontext + 8 * 16 },
		.rbp = { .kind = DP_WHERE_MEMORY, .reg = DP_RSP, .offset = sigcontext + 8 * 10 },
	};
}

/* A system call that returns 0 to a new thread, which has no caller. */
static struct dp_rule clone_rule(int32_t cfa_offset)
{
	return (struct dp_rule){
		.cfa = DP_CFA_CLONE,
		.cfa_reg = DP_RAX,
		.cfa_offset = cfa_offset,
		.ra = { .kind = DP_WHERE_CFA, .offset = -8 },
	};
}

/* As if an FDE had said so: equal rules have one number. */
static int builder_number_known(struct builder *b, const struct known_row *known)
{
	struct dp_rule signal = signal_rule(known->cfa_offset);
	struct dp_rule clone = clone_rule(known->cfa_offset);
	struct rule_word word = { 0 };
	struct cfi_row row = { 0 };

	if (known->signal)
		return rule_set_add(&b->packer.rules, &signal, NULL, NULL);
	if (known->clone)
		return rule_set_add(&b->packer.rules, &clone, NULL, NULL);
	row.cfa.kind = CFI_CFA_REGISTER;
	row.cfa.reg = known->cfa_reg;
	row.cfa.offset = known->cfa_offset;
	row.regs[CFI_RIP].kind = CFI_RULE_OFFSET;
	row.regs[CFI_RIP].offset = -8;
	if (known->rbp_saved) {
		row.regs[CFI_RBP].kind = CFI_RULE_OFFSET;
		row.regs[CFI_RBP].offset = -16;
	}
	rule_word_update(&word, &row, CFI_CHANGED_ALL);
	return rule_set_add_word(&b->packer.rules, word.word);
}

/* The rows of known code, and none between `*done`, which moves on, and its start. */
static int builder_add_known(struct builder *b, const struct known_code *code, uint64_t *done)
{
	for (size_t i = 0; i < code->n_rows; i++) {
		const struct known_row *row = &code->rows[i];
		int number = builder_number_known(b, row), err = 0;

		/* The numbers are used up. */
		if (number == -ENOSPC)
			number = DP_RULE_NONE;
		else
			b->stats.covered += row->end - row->start;
		if (number < 0)
			return number;
		if (*done < row->start)
			err = packer_add(&b->packer, *done, DP_RULE_NONE);
		if (err == 0)
			err = packer_add(&b->packer, row->start, (uint16_t)number);
		if (err < 0)
			return err;
		*done = row->end;
	}
	return 0;
}

/* The first range that reaches behind an address, not below those asked for before. */
static const struct code_range *find_range(struct builder *b, const struct image_extent *extent,
					   uint64_t address)
{
	while (b->range < extent->n_ranges &&
	       extent->ranges[b->range].address + extent->ranges[b->range].size <= address)
		b->range++;
	return b->range < extent->n_ranges ? &extent->ranges[b->range] : NULL;
}

/* `gap` bytes before it have been added as such. */
static int builder_add_fde(struct builder *b, const struct source *s, const struct cfi_fde *fde,
			   uint64_t gap, const struct image_extent *extent)
{
	const struct code_range *range = find_range(b, extent, fde->start);
	struct known_function known;
	uint64_t done = fde->start;
	int err = 0;

	b->stats.n_fdes++;
	if (range && gap > fde->start - range->address)
		gap = fde->start - range->address;
	if (range && fde->start >= range->address && fde->end - range->address <= range->size &&
	    known_function_find(range, gap, fde->start, fde->end, &known))
		return builder_add_known_function(b, s, fde, &known);
	if (s->initial[fde->cie].is_short)
		err = builder_add_words(b, s, fde, &done);
	if (err == 0 && done < fde->end)
		err = builder_add_rows(b, s, fde, done);
	return err;
}

/* The first known code between two addresses, at or behind those asked for before. */
static bool find_known(struct builder *b, const struct image_extent *extent, uint64_t start,
		       uint64_t end, struct known_code *ret)
{
	const struct code_range *r = find_range(b, extent, start);

	for (; r && r < extent->ranges + extent->n_ranges && r->address < end; r++) {
		uint64_t from = start > r->address ? start : r->address;
		uint64_t to = end < r->address + r->size ? end : r->address + r->size;

		if (from < to && known_code_next(r, from, to, ret))
			return true;
	}
	return false;
}

/* Padding, or code without unwind information: a neighbour's rule must not answer. */
static int builder_add_unknown(struct builder *b, uint64_t start, uint64_t end,
			       const struct image_extent *extent)
{
	struct known_code code;

	while (find_known(b, extent, start, end, &code)) {
		int err = builder_add_known(b, &code, &start);

		if (err < 0)
			return err;
	}
	return start < end ? packer_add(&b->packer, start, DP_RULE_NONE) : 0;
}

/* Is it nothing but padding, as nearly all gaps are? */
static bool is_padding(struct builder *b, const struct image_extent *extent, uint64_t start,
		       uint64_t end)
{
	const struct code_range *range = find_range(b, extent, start);

	return range && start >= range->address && end <= range->address + range->size &&
	       known_code_is_none(range, start, end);
}

static bool is_inside(const struct cfi_fde *fde, uint64_t start, uint64_t end)
{
	return fde->start >= start && fde->end <= end && fde->start < fde->end;
}

/*
 * What is executed first has no caller, said or not (psABI 3.4.1): the dynamic
 * linker's entry is code without unwind information, and musl's.
 */
static int builder_add_empty_gap(struct builder *b, uint64_t start, uint64_t end,
				 const struct image_extent *extent)
{
	static const struct dp_rule root = {
		.cfa = DP_CFA_REGISTER,
		.cfa_reg = DP_RSP,
		.cfa_offset = 8,
		.ra = { .kind = DP_WHERE_UNDEFINED },
	};
	uint64_t entry = extent->entry;
	bool has_entry = entry != 0 && entry >= start && entry < end;
	int number, err = 0;

	if (!has_entry && is_padding(b, extent, start, end))
		return packer_add(&b->packer, start, DP_RULE_NONE);
	if (!has_entry || entry > start)
		err = builder_add_unknown(b, start, has_entry ? entry : end, extent);
	if (err < 0 || !has_entry)
		return err;
	number = rule_set_add(&b->packer.rules, &root, NULL, NULL);
	if (number == -ENOSPC) /* the numbers are used up */
		number = DP_RULE_NONE;
	if (number < 0)
		return number;
	err = packer_add(&b->packer, entry, (uint16_t)number);
	if (err == 0 && end - entry > ENTRY_SIZE)
		err = builder_add_unknown(b, entry + ENTRY_SIZE, end, extent);
	return err;
}

/* Where the first section has no FDE: those of the other one that lie in there. */
static int builder_add_gap(struct builder *b, uint64_t start, uint64_t end,
			   const struct image_extent *extent)
{
	struct source *s = &b->beside;

	for (; s->next < s->index.n_fdes && s->index.fdes[s->next].start < end; s->next++) {
		struct cfi_fde fde = s->index.fdes[s->next];
		int err = 0;

		if (!is_inside(&fde, start, end))
			continue;
		if (s->next + 1 < s->index.n_fdes && fde.end > s->index.fdes[s->next + 1].start)
			fde.end = s->index.fdes[s->next + 1].start;
		if (fde.start == fde.end)
			continue;
		if (start < fde.start)
			err = builder_add_empty_gap(b, start, fde.start, extent);
		if (err == 0)
			err = builder_add_fde(b, s, &fde, fde.start - start, extent);
		if (err < 0)
			return err;
		start = fde.end;
	}
	return start < end ? builder_add_empty_gap(b, start, end, extent) : 0;
}

/*
 * The image starts with the first FDE, or where something is known before it.
 * Without an FDE, first_fde is the extent's end, and known code has to be there.
 */
static int builder_start(struct builder *b, const struct image_extent *extent, uint64_t first_fde,
			 uint64_t *ret)
{
	const struct cfi_index *beside = &b->beside.index;
	struct known_code code;

	*ret = first_fde;
	for (size_t i = 0; i < beside->n_fdes && *ret == first_fde; i++)
		if (is_inside(&beside->fdes[i], extent->start, first_fde))
			*ret = beside->fdes[i].start;
	if (find_known(b, extent, extent->start, *ret, &code))
		*ret = code.rows[0].start;
	else if (*ret == extent->end)
		return -ENODATA;
	if (extent->entry != 0 && extent->entry >= extent->start && extent->entry < *ret)
		*ret = extent->entry;
	return packer_init(&b->packer, *ret);
}

static int source_init(struct source *s, const struct cfi_section *section)
{
	int err = cfi_index_init(&s->index, section);

	s->section = section;
	if (err == 0)
		s->initial = calloc(s->index.n_cies + 1, sizeof(*s->initial));
	if (err == 0 && !s->initial)
		err = -ENOMEM;
	for (size_t i = 0; err == 0 && i < s->index.n_cies; i++) {
		struct initial *initial = &s->initial[i];

		rule_word_update(&initial->word, &s->index.cies[i].initial, CFI_CHANGED_ALL);
		initial->is_short = word_machine_init_cie(&s->index.cies[i], &initial->short_word);
	}
	return err;
}

/* FDEs ahead whose bytes are asked for, so that they are in the cache when it is their turn. */
#define AHEAD 6

static void fetch_ahead(const struct builder *b, const struct image_extent *extent)
{
	const struct source *s = &b->first;
	const struct code_range *range;
	const struct cfi_fde *fde;

	if (s->next + AHEAD >= s->index.n_fdes)
		return;
	fde = &s->index.fdes[s->next + AHEAD];
	__builtin_prefetch(s->section->data + fde->ops);
	if (b->range == extent->n_ranges)
		return;
	range = &extent->ranges[b->range];
	if (fde->end >= range->address && fde->end - range->address < range->size)
		__builtin_prefetch(range->bytes + (fde->end - range->address));
}

/*
 * Where FDEs overlap, the one that starts last holds, and nothing holds behind
 * its end: what libgcc's search in .eh_frame_hdr finds.
 */
static int builder_add_sections(struct builder *b, const struct image_extent *extent)
{
	const struct cfi_index *index = &b->first.index;
	uint64_t done = 0; /* behind the last address that has a row */
	bool started = false;
	int err = 0;

	for (; b->first.next < index->n_fdes; b->first.next++) {
		size_t i = b->first.next;
		struct cfi_fde fde = index->fdes[i];

		fetch_ahead(b, extent);
		if (!is_inside(&fde, extent->start, extent->end))
			continue;
		if (i + 1 < index->n_fdes && fde.end > index->fdes[i + 1].start)
			fde.end = index->fdes[i + 1].start;
		if (fde.start == fde.end)
			continue;
		if (!started)
			err = builder_start(b, extent, fde.start, &done);
		started = true;
		if (err == 0 && done < fde.start)
			err = builder_add_gap(b, done, fde.start, extent);
		if (err == 0)
			err = builder_add_fde(b, &b->first, &fde, fde.start - done, extent);
		if (err < 0)
			return err;
		done = fde.end;
	}
	if (!started)
		err = builder_start(b, extent, extent->end, &done);
	return err < 0 ? err : builder_add_gap(b, done, extent->end, extent);
}

int image_build(const struct cfi_section *section, const struct image_extent *extent,
		struct image *ret)
{
	_cleanup_(builder_freep) struct builder *b = calloc(1, sizeof(*b));
	uint64_t *cells;
	uint32_t n_cells;
	int err;

	if (!b)
		return -ENOMEM;
	err = source_init(&b->first, section);
	if (err == 0)
		err = source_init(&b->beside, &extent->beside);
	if (err == 0)
		err = builder_add_sections(b, extent);
	/* The entry's rule may be the last one: it does not hold for what is behind. */
	if (err == 0)
		err = packer_add(&b->packer, extent->end, DP_RULE_NONE);
	b->stats.n_bad_records = b->first.index.n_refusals + b->beside.index.n_refusals;
	cfi_index_done(&b->first.index); /* its memory is the image's now */
	if (err == 0)
		err = packer_finish(&b->packer, &cells, &n_cells);
	if (err < 0)
		return err;
	b->stats.n_rows = b->packer.n_rows;
	b->stats.n_rules = (uint32_t)b->packer.rules.n_rules;
	*ret = (struct image){ cells, n_cells, b->stats, steal_ptr(b->refusals), b->n_refusals };
	return 0;
}

void image_done(struct image *image)
{
	free(image->cells);
	free(image->refusals);
	*image = (struct image){ 0 };
}
