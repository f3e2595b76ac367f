/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_TRANSITION_H
#define DP_TABLES_TRANSITION_H

#include <stddef.h>
#include <stdint.h>

/*
 * Which rule follows which, and how often. A function's prologue pushes what
 * its epilogue pops: after most rules only a few others come. The most frequent
 * ones become the rule's successors and are written with four bits.
 */

/* Pairs looked up last. */
#define TRANSITION_RECENT_BITS 13
#define TRANSITION_RECENT (1 << TRANSITION_RECENT_BITS)

struct transition {
	uint16_t from, to; /* rule numbers */
	uint32_t count;
	uint8_t code; /* after transitions_rank(): place among the successors, or DWARF_DELTA_NUMBER */
};

struct transition_entry;

struct transitions {
	struct transition *list; /* in the order in which they came */
	size_t n, size;
	struct transition_entry *by_pair; /* uthash */
	struct {
		uint32_t pair, index;
	} recent[TRANSITION_RECENT];
	/* After transitions_rank() */
	uint16_t *state_of; /* by rule number */
	uint16_t *states;   /* the image's table of states */
	size_t n_states;
};

void transitions_init(struct transitions *t);
void transitions_done(struct transitions *t);

/* The index in t->list of a pair that was not among the recent ones, or -ENOMEM. */
int64_t transitions_find(struct transitions *t, uint32_t pair);

/* Count a pair. Its index in t->list, or -ENOMEM. */
static inline int64_t transitions_count(struct transitions *t, uint16_t from, uint16_t to)
{
	uint32_t pair = (uint32_t)from << 16 | to;
	size_t slot = (pair * UINT32_C(0x9e3779b1)) >> (32 - TRANSITION_RECENT_BITS);
	int64_t index = t->recent[slot].index;

	if (t->recent[slot].pair != pair) {
		index = transitions_find(t, pair);
		if (index < 0)
			return index;
		t->recent[slot].pair = pair;
		t->recent[slot].index = (uint32_t)index;
	}
	t->list[index].count++;
	return index;
}

/* Choose the successors of all rules. 0 or -ENOMEM. */
int transitions_rank(struct transitions *t, size_t n_rules);

#endif
