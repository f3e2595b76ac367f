/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_RULE_SET_H
#define DP_TABLES_RULE_SET_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "tables/rule.h"

/*
 * The distinct rules of an image, numbered in the order in which they came.
 * Two numbers are given from the start.
 */
#define RULE_SET_REFUSED 1 /* the walk ends with DP_UNSUPPORTED_RULE; 0 is DP_RULE_NONE */

struct word_entry;
struct full_entry;
struct saves_entry;
struct program_entry;

struct rule_set {
	uint64_t *words; /* by number */
	size_t n_rules, words_size;
	size_t n_full, n_saves;
	size_t program_cells;
	struct word_entry *by_word; /* uthash, as the next ones */
	struct full_entry *full;
	struct saves_entry *saves;
	struct program_entry *programs;
};

/* 0 or -ENOMEM. A zeroed set may be passed to rule_set_done() too. */
int rule_set_init(struct rule_set *set);
void rule_set_done(struct rule_set *set);

/*
 * The number of a rule, which is added if it is new; rule->saves is ignored,
 * `saves` (NULL: none) is what counts, and `programs` for those parts of the
 * rule that need one (NULL: none does). Returns -ENOMEM, or -ENOSPC if the
 * numbers are used up.
 */
int rule_set_add(struct rule_set *set, const struct dp_rule *rule, const struct dp_saves *saves,
		 const struct rule_programs *programs);

/* Where a program is among those of the set, in cells; it is added if it is new. As above. */
int rule_set_add_program(struct rule_set *set, const struct rule_program *program);

/* The same for one that a word expresses (not DP_FORM_FULL). */
int rule_set_add_word(struct rule_set *set, uint64_t word);

/* Write all rules that are kept in full, all saves in the order of their numbers, and programs. */
void rule_set_copy(const struct rule_set *set, struct dp_rule *to_full, struct dp_saves *to_saves,
		   uint64_t *to_programs);

#endif
