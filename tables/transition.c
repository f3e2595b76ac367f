// SPDX-License-Identifier: Apache-2.0
#include "tables/transition.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "bpf/abi.h"

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->failed = 1)
#include <uthash.h>

/* A successor costs two bytes in the table and saves one or two at each use. */
#define WORTH_A_SUCCESSOR 2

struct transition_entry {
	uint32_t pair, index;
	int failed;
	UT_hash_handle hh;
};

void transitions_done(struct transitions *t)
{
	struct transition_entry *e, *next;

	HASH_ITER(hh, t->by_pair, e, next) {
		HASH_DEL(t->by_pair, e);
		free(e);
	}
	free(t->list);
	free(t->state_of);
	free(t->states);
}

static struct transition_entry *add_pair(struct transitions *t, uint32_t pair)
{
	struct transition_entry *e;

	if (array_reserve(t->list, t->n, t->size) < 0)
		return NULL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->pair = pair;
	e->index = (uint32_t)t->n;
	HASH_ADD(hh, t->by_pair, pair, sizeof(pair), e);
	if (e->failed) {
		free(e);
		return NULL;
	}
	t->list[t->n++] =
		(struct transition){ .from = (uint16_t)(pair >> 16), .to = (uint16_t)pair };
	return e;
}

int64_t transitions_add(struct transitions *t, uint16_t from, uint16_t to)
{
	uint32_t pair = (uint32_t)from << 16 | to;
	struct transition_entry *e;

	HASH_FIND(hh, t->by_pair, &pair, sizeof(pair), e);
	if (!e)
		e = add_pair(t, pair);
	return e ? (int64_t)e->index : -ENOMEM;
}

/*
 * By rule, most frequent first, then in order of arrival, so that equal input gives equal images.
 */
static int transition_compare(const void *a, const void *b)
{
	const struct transition *x = *(struct transition *const *)a;
	const struct transition *y = *(struct transition *const *)b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x < y ? -1 : x > y;
}

/*
 * True if a transition, number `nth` of its rule, is to be a successor. Every rule needs a state,
 * so the last states are reserved for rules.
 */
static bool is_successor(const struct transition *x, size_t nth, size_t n_states, size_t n_rules)
{
	return nth < DWARF_DELTA_SUCCESSORS && x->count > WORTH_A_SUCCESSOR &&
	       n_states + n_rules < UINT16_MAX;
}

/*
 * Lays out the states: each rule's number, and room for its successors, which are rule numbers for
 * now.
 */
static void lay_out(struct transitions *t, struct transition **sorted, size_t n_rules)
{
	size_t at = 0;

	for (size_t rule = 0; rule < n_rules; rule++) {
		size_t nth = 0;

		t->state_of[rule] = (uint16_t)t->n_states;
		t->states[t->n_states++] = (uint16_t)rule;
		for (; at < t->n && sorted[at]->from == rule; at++, nth++) {
			if (!is_successor(sorted[at], nth, t->n_states, n_rules - rule)) {
				sorted[at]->code = DWARF_DELTA_NUMBER;
				continue;
			}
			sorted[at]->code = (uint8_t)nth;
			t->states[t->n_states++] = sorted[at]->to;
		}
	}
}

int transitions_rank(struct transitions *t, size_t n_rules)
{
	_cleanup_free_ struct transition **sorted = calloc(t->n + 1, sizeof(struct transition *));

	t->state_of = calloc(n_rules + 1, sizeof(*t->state_of));
	t->states = calloc(t->n + n_rules, sizeof(*t->states));
	if (!sorted || !t->state_of || !t->states)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		sorted[i] = &t->list[i];
	qsort(sorted, t->n, sizeof(struct transition *), transition_compare);
	lay_out(t, sorted, n_rules);
	for (size_t rule = 0; rule < n_rules; rule++) {
		size_t end = rule + 1 < n_rules ? t->state_of[rule + 1] : t->n_states;

		for (size_t i = t->state_of[rule] + 1U; i < end; i++)
			t->states[i] = t->state_of[t->states[i]];
	}
	return 0;
}
