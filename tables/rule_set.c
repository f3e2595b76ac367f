// SPDX-License-Identifier: Apache-2.0
#include "tables/rule_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "limits/limits.h"

/* Running out of memory is an error, not the end of the program. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->failed = 1)
#include <uthash.h>

struct word_entry {
	uint64_t word;
	uint32_t number;
	int failed;
	UT_hash_handle hh;
};

struct full_entry {
	struct dp_rule rule;
	uint32_t number;
	int failed;
	UT_hash_handle hh;
};

struct saves_entry {
	struct dp_saves saves;
	uint32_t number;
	int failed;
	UT_hash_handle hh;
};

struct program_entry {
	uint32_t at; /* in cells, from the first one */
	int failed;
	UT_hash_handle hh;
	struct rule_program program;
};

int rule_set_add_word(struct rule_set *set, uint64_t word)
{
	struct word_entry *e;

	HASH_FIND(hh, set->by_word, &word, sizeof(word), e);
	if (!e) {
		if (set->n_rules >= DP_MAX_RULES)
			return -ENOSPC;
		if (array_reserve(set->words, set->n_rules, set->words_size) < 0)
			return -ENOMEM;
		e = calloc(1, sizeof(*e));
		if (!e)
			return -ENOMEM;
		e->word = word;
		e->number = (uint32_t)set->n_rules;
		HASH_ADD(hh, set->by_word, word, sizeof(word), e);
		if (e->failed) {
			free(e);
			return -ENOMEM;
		}
		set->words[set->n_rules++] = word;
	}
	return (int)e->number;
}

/* Returns the number of a rule among those stored in full. */
static int add_full(struct rule_set *set, const struct dp_rule *rule)
{
	struct full_entry *e;

	HASH_FIND(hh, set->full, rule, sizeof(*rule), e);
	if (e)
		return (int)e->number;
	if (set->n_full >= RULE_MAX_FULL)
		return -ENOSPC;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->rule = *rule;
	e->number = (uint32_t)set->n_full;
	HASH_ADD(hh, set->full, rule, sizeof(e->rule), e);
	if (e->failed) {
		free(e);
		return -ENOMEM;
	}
	set->n_full++;
	return (int)e->number;
}

static int add_saves(struct rule_set *set, const struct dp_saves *saves)
{
	struct saves_entry *e;

	HASH_FIND(hh, set->saves, saves, sizeof(*saves), e);
	if (e)
		return (int)e->number;
	if (set->n_saves >= RULE_MAX_SAVES)
		return -ENOSPC;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->saves = *saves;
	e->number = (uint32_t)set->n_saves;
	HASH_ADD(hh, set->saves, saves, sizeof(e->saves), e);
	if (e->failed) {
		free(e);
		return -ENOMEM;
	}
	set->n_saves++;
	return (int)e->number;
}

int rule_set_add_program(struct rule_set *set, const struct rule_program *program)
{
	size_t size = rule_program_size(program);
	struct program_entry *e;

	HASH_FIND(hh, set->programs, program, size, e);
	if (e)
		return (int)e->at;
	if (set->program_cells + size / DP_CELL_SIZE > RULE_MAX_PROGRAM_CELLS)
		return -ENOSPC;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	memcpy(&e->program, program, size);
	e->at = (uint32_t)set->program_cells;
	HASH_ADD(hh, set->programs, program, size, e);
	if (e->failed) {
		free(e);
		return -ENOMEM;
	}
	set->program_cells += size / DP_CELL_SIZE;
	return (int)e->at;
}

int rule_set_init(struct rule_set *set)
{
	static const struct dp_rule given[] = {
		[DP_RULE_NONE] = { .cfa = DP_CFA_NONE, .why = DP_NO_RULE },
		[RULE_SET_REFUSED] = { .cfa = DP_CFA_NONE, .why = DP_UNSUPPORTED_RULE },
	};

	memset(set, 0, sizeof(*set));
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		int number = rule_set_add(set, &given[i], NULL, NULL);

		if (number < 0)
			return number;
	}
	return 0;
}

void rule_set_done(struct rule_set *set)
{
	struct word_entry *w, *next_w;
	struct full_entry *f, *next_f;
	struct saves_entry *s, *next_s;
	struct program_entry *p, *next_p;

	HASH_ITER(hh, set->by_word, w, next_w) {
		HASH_DEL(set->by_word, w);
		free(w);
	}
	HASH_ITER(hh, set->full, f, next_f) {
		HASH_DEL(set->full, f);
		free(f);
	}
	HASH_ITER(hh, set->saves, s, next_s) {
		HASH_DEL(set->saves, s);
		free(s);
	}
	HASH_ITER(hh, set->programs, p, next_p) {
		HASH_DEL(set->programs, p);
		free(p);
	}
	free(set->words);
}

int rule_set_add(struct rule_set *set, const struct dp_rule *rule, const struct dp_saves *saves,
		 const struct rule_programs *programs)
{
	struct dp_rule numbered = *rule;
	int number;

	numbered.saves = 0;
	if (saves) {
		number = add_saves(set, saves);
		if (number < 0)
			return number;
		numbered.saves = DP_SAVES_APART | (uint32_t)number;
	}
	for (int part = 0; programs && part < RULE_N_PARTS; part++) {
		int32_t *of = rule_program_of(&numbered, (enum rule_part)part);

		if (!of)
			continue;
		number = rule_set_add_program(set, &programs->of[part]);
		if (number < 0)
			return number;
		*of = number;
	}
	number = add_full(set, &numbered);
	if (number < 0)
		return number;
	return rule_set_add_word(set, (uint64_t)number << DP_FORM_BITS | DP_FORM_FULL);
}

void rule_set_copy(const struct rule_set *set, struct dp_rule *to_full, struct dp_saves *to_saves,
		   uint64_t *to_programs)
{
	for (const struct full_entry *f = set->full; f; f = f->hh.next)
		to_full[f->number] = f->rule;
	for (const struct saves_entry *s = set->saves; s; s = s->hh.next)
		to_saves[s->number] = s->saves;
	for (const struct program_entry *p = set->programs; p; p = p->hh.next)
		memcpy(to_programs + p->at, &p->program, rule_program_size(&p->program));
}
