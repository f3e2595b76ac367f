/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_TRANSITION_H
#define DP_TABLES_TRANSITION_H

#include <stddef.h>
#include <stdint.h>

/*
 * Which rule follows which, and how often. A function's epilogue pops what its prologue pushes, so
 * only a few rules follow most rules. The most frequent become the rule's successors, and are
 * written with four bits.
 */

struct transition {
	uint16_t from, to; /* rule numbers */
	uint32_t count;
	uint64_t bytes; /* of code in which `from` held before */
	uint8_t code;   /* after transitions_rank(): index among the successors, or
	               * DWARF_DELTA_NUMBER */
};

struct transition_entry;

struct transitions {
	struct transition *list; /* in order of arrival */
	size_t n, size;
	struct transition_entry *by_pair; /* uthash */
	/* After transitions_rank() */
	uint16_t *state_of; /* by rule number */
	uint16_t *states;   /* the image's table of states */
	size_t n_states;
};

/* A zeroed struct is empty. */
void transitions_done(struct transitions *t);

/*
 * Returns the index of a pair in t->list, and adds it with a count of 0 if it is new; or -ENOMEM.
 */
int64_t transitions_add(struct transitions *t, uint16_t from, uint16_t to);

/* Chooses the successors of all rules. Returns 0 or -ENOMEM. */
int transitions_rank(struct transitions *t, size_t n_rules);

#endif
