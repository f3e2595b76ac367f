/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_PACKER_H
#define DP_TABLES_PACKER_H

#include <stddef.h>
#include <stdint.h>

#include "tables/rule_set.h"
#include "tables/transition.h"

/*
 * A recently used change of rule. Its count and the code before it are added to its transition when
 * it makes room for another one.
 */
struct packer_change {
	uint64_t word; /* of the rule that it leads to */
	uint16_t from, to;
	uint32_t transition;
	uint32_t count;
	uint64_t bytes;
};

#define PACKER_RECENT_BITS 11

/*
 * A stored row is a word of two halves: the distance from the previous row, and the index of its
 * transition. A value that does not fit is replaced by FAR and follows in a word of its own: the
 * distance or the rule.
 */
#define PACKER_FAR UINT16_MAX
#define PACKER_KEPT_MAX 3

/*
 * Rows in, an image out. Rows are stored as distances and transitions until all are known; then the
 * image is written page by page.
 */
struct packer {
	struct rule_set rules;
	struct transitions transitions;
	uint64_t base; /* address of the first page */
	uint64_t last; /* highest possible address */
	uint64_t pc;   /* of the last row */
	uint16_t rule; /* in force there */
	uint32_t *kept, *kept_end;
	uint32_t *kept_limit; /* limit of stored rows */
	struct packer_change recent[1 << PACKER_RECENT_BITS];
	/* Labels (struct dp_image); the program is one of the rules' */
	uint32_t labels, labels_form, other_labels;
	struct dp_tls variable;
	const struct dp_runtime_image *runtime; /* the caller's */
	uint32_t runtime_kind;
	uint64_t n_rows; /* after packer_finish() */
};

/* Returns 0 or -ENOMEM. `start` is the lowest address of a row. packer_done() frees it. */
int packer_init(struct packer *p, uint64_t start);
void packer_done(struct packer *p);

static inline struct packer_change *packer_change(struct packer *p, uint64_t word)
{
	uint64_t hash = (word ^ (uint64_t)p->rule << 48) * UINT64_C(0x9e3779b97f4a7c15);

	return &p->recent[hash >> (64 - PACKER_RECENT_BITS)];
}

/* The part of packer_add_word() for a new change or a long distance. */
int packer_add_far(struct packer *p, uint64_t pc, uint64_t word);

/*
 * The rule of this word holds from pc on. Rows come in ascending order; one that changes nothing is
 * ignored. Returns 0, -ENOMEM, -ENOSPC if there are too many rules, or -EFBIG for code that spans 4
 * GiB or more.
 */
static inline int packer_add_word(struct packer *p, uint64_t pc, uint64_t word)
{
	struct packer_change *change = packer_change(p, word);
	uint64_t distance = pc - p->pc;

	if (change->word != word || change->from != p->rule || distance >= PACKER_FAR ||
	    change->transition >= PACKER_FAR || pc > p->last || p->kept_end >= p->kept_limit)
		return packer_add_far(p, pc, word);
	if (change->to == p->rule)
		return 0;
	*p->kept_end++ = (uint32_t)distance | change->transition << 16;
	change->count++;
	change->bytes += distance;
	p->pc = pc;
	p->rule = change->to;
	return 0;
}

/* The same for rule number `rule` of p->rules. */
static inline int packer_add(struct packer *p, uint64_t pc, uint16_t rule)
{
	return packer_add_word(p, pc, p->rules.words[rule]);
}

/*
 * Returns the image's cells, owned by the caller, and their number. 0, -ENOMEM, or -EFBIG from 4
 * GiB on.
 */
int packer_finish(struct packer *p, uint64_t **ret_cells, uint32_t *ret_n_cells);

#endif
