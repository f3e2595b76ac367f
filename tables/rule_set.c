// SPDX-License-Identifier: Apache-2.0
#include "rule_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Out of memory is an error of ours, not the end of the program. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->failed = 1)
#include <uthash.h>

struct rule_entry {
	struct dp_rule rule;
	uint32_t number;
	int failed;
	UT_hash_handle hh;
};

struct saves_entry {
	struct dp_saves saves;
	uint32_t number; /* counted from 1: 0 in a rule means none */
	int failed;
	UT_hash_handle hh;
};

/* All saves of an image lie in its first segment, behind the header. */
#define MAX_SAVES ((DP_SEGMENT_SIZE - sizeof(struct dp_image)) / sizeof(struct dp_saves))

static int add_rule(struct rule_set *set, const struct dp_rule *rule)
{
	struct rule_entry *e;

	HASH_FIND(hh, set->rules, rule, sizeof(*rule), e);
	if (e)
		return (int)e->number;
	if (set->n_rules >= DP_MAX_RULES)
		return -ENOSPC;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->rule = *rule;
	e->number = (uint32_t)set->n_rules;
	HASH_ADD(hh, set->rules, rule, sizeof(e->rule), e);
	if (e->failed) {
		free(e);
		return -ENOMEM;
	}
	set->n_rules++;
	return (int)e->number;
}

static int add_saves(struct rule_set *set, const struct dp_saves *saves)
{
	struct saves_entry *e;

	HASH_FIND(hh, set->saves, saves, sizeof(*saves), e);
	if (e)
		return (int)e->number;
	if (set->n_saves >= MAX_SAVES)
		return -ENOSPC;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->saves = *saves;
	e->number = (uint32_t)set->n_saves + 1;
	HASH_ADD(hh, set->saves, saves, sizeof(e->saves), e);
	if (e->failed) {
		free(e);
		return -ENOMEM;
	}
	set->n_saves++;
	return (int)e->number;
}

int rule_set_init(struct rule_set *set)
{
	static const struct dp_rule given[] = {
		[DP_RULE_NONE] = { .cfa = DP_CFA_NONE, .why = DP_NO_RULE },
		[RULE_SET_REFUSED] = { .cfa = DP_CFA_NONE, .why = DP_UNSUPPORTED_RULE },
	};

	*set = (struct rule_set){ 0 };
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		int number = add_rule(set, &given[i]);

		if (number < 0)
			return number;
	}
	return 0;
}

void rule_set_done(struct rule_set *set)
{
	struct rule_entry *r, *next_r;
	struct saves_entry *s, *next_s;

	HASH_ITER(hh, set->rules, r, next_r) {
		HASH_DEL(set->rules, r);
		free(r);
	}
	HASH_ITER(hh, set->saves, s, next_s) {
		HASH_DEL(set->saves, s);
		free(s);
	}
}

int rule_set_add(struct rule_set *set, const struct dp_rule *rule, const struct dp_saves *saves)
{
	struct dp_rule numbered = *rule;
	int number = 0;

	if (saves) {
		number = add_saves(set, saves);
		if (number < 0)
			return number;
	}
	numbered.saves = (uint32_t)number;
	return add_rule(set, &numbered);
}

void rule_set_copy(const struct rule_set *set, void *to_saves, void *to_rules)
{
	for (const struct saves_entry *s = set->saves; s; s = s->hh.next)
		memcpy((struct dp_saves *)to_saves + s->number - 1, &s->saves, sizeof(s->saves));
	for (const struct rule_entry *r = set->rules; r; r = r->hh.next)
		memcpy((struct dp_rule *)to_rules + r->number, &r->rule, sizeof(r->rule));
}
