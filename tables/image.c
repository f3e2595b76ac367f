// SPDX-License-Identifier: Apache-2.0
#include "tables/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cfi/machine.h"
#include "tables/go_rules.h"
#include "tables/packer.h"
#include "tables/rule_word.h"
#include "tables/source.h"
#include "tables/word_machine.h"

/* Size of a program's start-up code at its entry point: glibc's has 61 bytes. */
#define ENTRY_SIZE 64

enum { SOURCE_FIRST, SOURCE_FALLBACK, SOURCE_GO, N_SOURCES };

/* Rows arrive in ascending order and are passed on to the packer. */
struct builder {
	struct packer packer;
	struct rule_word word;            /* the current row's */
	struct source sources[N_SOURCES]; /* addresses not covered by one are looked up in the
	                                   * next */
	struct go_rules go;
	size_t range; /* index of the current code range */
	struct image_stats stats;
	struct image_refusal *refusals;
	size_t n_refusals, refusals_size;
};

static void builder_free(struct builder *b)
{
	packer_done(&b->packer);
	for (size_t i = 0; i < N_SOURCES; i++)
		source_done(&b->sources[i]);
	go_rules_done(&b->go);
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

/* Returns the number of a row's rule that no word can express. */
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
 * Adds the rows of an FDE as far as word_machine can. *ret_done is where it stopped, nearly always
 * the FDE's end.
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
	/* The caller reports which rows have no number any more, and why. */
	return err == -ENOSPC ? 0 : err;
}

/* Adds the rows of an FDE from an address on. */
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

/*
 * The number of the rule for a stack depth: the distance from sp up to the return address. All
 * other registers are unchanged.
 */
static int builder_number_depth(struct builder *b, int64_t depth)
{
	struct rule_word word = { 0 };
	struct cfi_row row = { 0 };
	enum rule_refusal refusal;
	int number;

	row.cfa.kind = CFI_CFA_REGISTER;
	row.cfa.reg = CFI_SP;
	row.cfa.offset = depth + DP_CALL_SIZE;
	row.regs[CFI_RA] = CFI_CALL_RA;
	rule_word_update(&word, &row, CFI_CHANGED_ALL);
	if (word.odd == 0)
		number = rule_set_add_word(&b->packer.rules, word.word);
	else
		number = builder_number(b, &row, false, &refusal);
	/* The table is damaged, or rule numbers are used up. */
	return depth < 0 || number == 0 || number == -ENOSPC ? RULE_SET_REFUSED : number;
}

/* Adds rows with the stack depth that Go's linker knows. */
static int builder_add_go(struct builder *b, const struct source *s, const struct cfi_fde *fde,
			  uint64_t from)
{
	struct pclntab_function f;
	struct pclntab_values values;
	int number, err = pclntab_function(s->go, fde->go_function, &f);

	if (err < 0)
		return packer_add(&b->packer, from, DP_RULE_NONE);
	pclntab_values_init(&values, s->go, &f, f.sp);
	while (err == 0 && pclntab_values_next(&values) && values.last.start < fde->end) {
		uint64_t end = values.last.end < fde->end ? values.last.end : fde->end;

		if (end <= from)
			continue;
		number = builder_number_depth(b, values.last.value);
		err = number < 0 ? number : packer_add(&b->packer, from, (uint16_t)number);
		b->stats.covered += end - from;
		from = end;
	}
	return err;
}

/* Adds the rows of an FDE from an address on, by the kind of its source. */
static int builder_add_from(struct builder *b, const struct source *s, const struct cfi_fde *fde,
			    uint64_t from)
{
	int err = 0;

	if (s->go)
		return builder_add_go(b, s, fde, from);
	if (from == fde->start && s->initial[fde->cie].is_short)
		err = builder_add_words(b, s, fde, &from);
	if (err == 0 && from < fde->end)
		err = builder_add_rows(b, s, fde, from);
	return err;
}

/* Equal rules get one number, as if an FDE had them. */
static int builder_number_known(struct builder *b, const struct known_row *known)
{
	struct dp_rule signal = rule_signal(known->cfa_offset);
	struct dp_rule clone = rule_clone(known->cfa_offset);
	struct rule_word word = { 0 };
	struct cfi_row row = { 0 };

	if (known->signal)
		return rule_set_add(&b->packer.rules, &signal, NULL, NULL);
	if (known->clone)
		return rule_set_add(&b->packer.rules, &clone, NULL, NULL);
	row.cfa.kind = CFI_CFA_REGISTER;
	row.cfa.reg = known->cfa_reg;
	row.cfa.offset = known->cfa_offset;
	row.regs[CFI_RA] = CFI_CALL_RA;
	if (known->fp_saved) {
		row.regs[CFI_FP].kind = CFI_RULE_OFFSET;
		row.regs[CFI_FP].offset = -DP_FP_CFA;
	}
	rule_word_update(&word, &row, CFI_CHANGED_ALL);
	return rule_set_add_word(&b->packer.rules, word.word);
}

/* Adds the rows of known code, and a gap between `*done` and its start. Moves `*done`. */
static int builder_add_known(struct builder *b, const struct known_code *code, uint64_t *done)
{
	for (size_t i = 0; i < code->n_rows; i++) {
		const struct known_row *row = &code->rows[i];
		int number = builder_number_known(b, row), err = 0;

		/* Rule numbers are used up. */
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

/* The first range that ends behind an address. Addresses must be ascending. */
static const struct code_range *find_range(struct builder *b, const struct image_input *input,
					   uint64_t address)
{
	while (b->range < input->n_ranges &&
	       input->ranges[b->range].address + input->ranges[b->range].size <= address)
		b->range++;
	return b->range < input->n_ranges ? &input->ranges[b->range] : NULL;
}

/* Adds the rows of an FDE, except where Go functions have their own rules. */
static int builder_add_fde(struct builder *b, const struct source *s, const struct cfi_fde *fde)
{
	const struct go_rule *known, *end;
	uint64_t done = fde->start;
	struct cfi_fde part = *fde;
	int err = 0;

	b->stats.n_fdes++;
	if (b->go.n == 0)
		return builder_add_from(b, s, fde, fde->start);
	known = go_rules_find(&b->go, fde->start);
	end = b->go.rules + b->go.n;
	for (; known && known < end && known->start < fde->end && err == 0; known++) {
		uint64_t start = known->start > done ? known->start : done;

		if (known->end <= start)
			continue;
		part.end = start;
		if (done < start)
			err = builder_add_from(b, s, &part, done);
		if (err == 0)
			err = packer_add(&b->packer, start, known->number);
		done = known->end < fde->end ? known->end : fde->end;
		b->stats.covered += done - start;
	}
	return err == 0 && done < fde->end ? builder_add_from(b, s, fde, done) : err;
}

/* The first known code between two addresses, which must be ascending. */
static bool find_known(struct builder *b, const struct image_input *input, uint64_t start,
		       uint64_t end, struct known_code *ret)
{
	const struct code_range *r = find_range(b, input, start);

	for (; r && r < input->ranges + input->n_ranges && r->address < end; r++) {
		uint64_t from = start > r->address ? start : r->address;
		uint64_t to = end < r->address + r->size ? end : r->address + r->size;

		if (from < to && known_code_next(r, from, to, ret))
			return true;
	}
	return false;
}

/* Padding, or code without unwind information: a neighbour's rule must not apply. */
static int builder_add_unknown(struct builder *b, uint64_t start, uint64_t end,
			       const struct image_input *input)
{
	struct known_code code;

	while (find_known(b, input, start, end, &code)) {
		int err = builder_add_known(b, &code, &start);

		if (err < 0)
			return err;
	}
	return start < end ? packer_add(&b->packer, start, DP_RULE_NONE) : 0;
}

/* True if it is only padding, as nearly all gaps are. */
static bool is_padding(struct builder *b, const struct image_input *input, uint64_t start,
		       uint64_t end)
{
	const struct code_range *range = find_range(b, input, start);

	return range && start >= range->address && end <= range->address + range->size &&
	       known_code_is_none(range, start, end);
}

/*
 * The code executed first has no caller, even if no unwind information says so: the dynamic
 * linker's entry has none, nor has musl's.
 */
static int builder_add_empty_gap(struct builder *b, uint64_t start, uint64_t end,
				 const struct image_input *input)
{
	const struct dp_rule root = rule_root();
	uint64_t entry = input->entry;
	bool has_entry = entry != 0 && entry >= start && entry < end;
	int number, err = 0;

	if (!has_entry && is_padding(b, input, start, end))
		return packer_add(&b->packer, start, DP_RULE_NONE);
	if (!has_entry || entry > start)
		err = builder_add_unknown(b, start, has_entry ? entry : end, input);
	if (err < 0 || !has_entry)
		return err;
	number = rule_set_add(&b->packer.rules, &root, NULL, NULL);
	if (number == -ENOSPC) /* rule numbers are used up */
		number = DP_RULE_NONE;
	if (number < 0)
		return number;
	err = packer_add(&b->packer, entry, (uint16_t)number);
	if (err == 0 && end - entry > ENTRY_SIZE)
		err = builder_add_unknown(b, entry + ENTRY_SIZE, end, input);
	return err;
}

static int builder_add_fallback(struct builder *b, size_t source, uint64_t start, uint64_t end,
				const struct image_input *input);

/* Fills a gap of the sources before this one. Most files have only one source. */
static inline int builder_add_gap(struct builder *b, size_t source, uint64_t start, uint64_t end,
				  const struct image_input *input)
{
	while (source < N_SOURCES && b->sources[source].next == b->sources[source].index.n_fdes)
		source++;
	return source == N_SOURCES ? builder_add_empty_gap(b, start, end, input) :
				     builder_add_fallback(b, source, start, end, input);
}

/* Adds the FDEs of a source in a gap of the sources before it. */
static int builder_add_fallback(struct builder *b, size_t source, uint64_t start, uint64_t end,
				const struct image_input *input)
{
	struct source *s = &b->sources[source];
	struct cfi_fde fde;
	int err = 0;

	for (; s->next < s->index.n_fdes && s->index.fdes[s->next].start < end; s->next++) {
		if (!source_fde(s, s->next, start, end, &fde))
			continue;
		if (start < fde.start)
			err = builder_add_gap(b, source + 1, start, fde.start, input);
		if (err == 0)
			err = builder_add_fde(b, s, &fde);
		if (err < 0)
			return err;
		start = fde.end;
	}
	return start < end ? builder_add_gap(b, source + 1, start, end, input) : 0;
}

/*
 * The image starts with the first FDE, or with known code before it. Without an FDE, first_fde is
 * the end of the code, and there must be known code.
 */
static int builder_start(struct builder *b, const struct image_input *input, uint64_t first_fde,
			 uint64_t *ret)
{
	struct known_code code;
	struct cfi_fde fde;
	int err;

	*ret = first_fde;
	for (size_t k = SOURCE_FIRST + 1; k < N_SOURCES; k++) {
		const struct source *s = &b->sources[k];
		uint64_t first = *ret;

		for (size_t i = 0; i < s->index.n_fdes && *ret == first; i++)
			if (source_fde(s, i, input->start, first, &fde))
				*ret = fde.start;
	}
	if (find_known(b, input, input->start, *ret, &code))
		*ret = code.rows[0].start;
	else if (*ret == input->end)
		return -ENODATA;
	if (input->entry != 0 && input->entry >= input->start && input->entry < *ret)
		*ret = input->entry;
	err = packer_init(&b->packer, *ret);
	if (err == 0 && input->go.size > 0)
		err = go_rules_init(&b->go, &input->go, input->go_minor, input->ranges,
				    input->n_ranges, &b->packer.rules);
	b->packer.labels = b->go.labels;
	b->packer.labels_form = b->go.labels_form;
	b->packer.other_labels = input->other_labels;
	if (b->packer.labels_form == DP_LABELS_NONE) {
		b->packer.labels_form = input->labels_form;
		b->packer.variable = input->variable;
	} else if (input->labels_form != DP_LABELS_NONE) {
		b->packer.other_labels |= 1U << input->labels_form;
	}
	b->packer.runtime = input->runtime;
	b->packer.runtime_kind = input->runtime_kind;
	/* Without rule numbers of their own, such functions keep their FDEs' rules. */
	return err == -ENOSPC ? 0 : err;
}

/* Number of FDEs to prefetch. */
#define AHEAD 6

static void fetch_ahead(const struct builder *b, const struct image_input *input)
{
	const struct source *s = &b->sources[SOURCE_FIRST];
	const struct code_range *range;
	const struct cfi_fde *fde;

	if (s->next + AHEAD >= s->index.n_fdes)
		return;
	fde = &s->index.fdes[s->next + AHEAD];
	__builtin_prefetch(s->section->data + fde->ops);
	if (b->range == input->n_ranges)
		return;
	range = &input->ranges[b->range];
	if (fde->end >= range->address && fde->end - range->address < range->size)
		__builtin_prefetch(range->bytes + (fde->end - range->address));
}

/*
 * Where FDEs overlap, the one that starts last applies, and nothing applies behind its end: that is
 * what libgcc's search in .eh_frame_hdr finds.
 */
static int builder_add_sections(struct builder *b, const struct image_input *input)
{
	struct source *first = &b->sources[SOURCE_FIRST];
	uint64_t done = 0; /* end of the last row */
	bool started = false;
	struct cfi_fde fde;
	int err = 0;

	for (; first->next < first->index.n_fdes; first->next++) {
		fetch_ahead(b, input);
		if (!source_fde(first, first->next, input->start, input->end, &fde))
			continue;
		if (!started)
			err = builder_start(b, input, fde.start, &done);
		started = true;
		if (err == 0 && done < fde.start)
			err = builder_add_gap(b, SOURCE_FIRST + 1, done, fde.start, input);
		if (err == 0)
			err = builder_add_fde(b, first, &fde);
		if (err < 0)
			return err;
		done = fde.end;
	}
	if (!started)
		err = builder_start(b, input, input->end, &done);
	return err < 0 ? err : builder_add_gap(b, SOURCE_FIRST + 1, done, input->end, input);
}

static int builder_init(struct builder *b, const struct cfi_section *section,
			const struct image_input *input)
{
	int err = source_init(&b->sources[SOURCE_FIRST], section);

	if (err == 0)
		err = source_init(&b->sources[SOURCE_FALLBACK], &input->fallback);
	if (err < 0 || input->go.size == 0)
		return err;
	return source_init_go(&b->sources[SOURCE_GO], &input->go);
}

int image_build(const struct cfi_section *section, const struct image_input *input,
		struct image *ret)
{
	_cleanup_(builder_freep) struct builder *b = calloc(1, sizeof(*b));
	uint64_t *cells;
	uint32_t n_cells;
	int err;

	if (!b)
		return -ENOMEM;
	err = builder_init(b, section, input);
	if (err == 0)
		err = builder_add_sections(b, input);
	/* The entry's rule may be the last one: it ends here. */
	if (err == 0)
		err = packer_add(&b->packer, input->end, DP_RULE_NONE);
	for (size_t i = 0; i < N_SOURCES; i++)
		b->stats.n_bad_records += b->sources[i].index.n_refusals;
	cfi_index_done(&b->sources[SOURCE_FIRST].index); /* frees memory that the image needs now */
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
