/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_RULE_SET_H
#define DP_TABLES_RULE_SET_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"

/*
 * The distinct rules of an image, numbered in the order in which they came.
 * Two numbers are given from the start.
 */
#define RULE_SET_REFUSED 1 /* the walk ends with DP_UNSUPPORTED_RULE; 0 is DP_RULE_NONE */

struct rule_entry;
struct saves_entry;

struct rule_set {
	struct rule_entry *rules; /* uthash */
	struct saves_entry *saves;
	size_t n_rules, n_saves;
};

/* 0 or -ENOMEM. A zeroed set may be passed to rule_set_done() too. */
int rule_set_init(struct rule_set *set);
void rule_set_done(struct rule_set *set);

/*
 * The number of a rule, which is added if it is new; rule->saves is ignored,
 * `saves` (NULL: none) is what counts. Returns -ENOMEM, or -ENOSPC if the
 * numbers are used up.
 */
int rule_set_add(struct rule_set *set, const struct dp_rule *rule, const struct dp_saves *saves);

/* Write all saves and rules in the order of their numbers. */
void rule_set_copy(const struct rule_set *set, void *to_saves, void *to_rules);

#endif
