/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_RULE_SET_H
#define DP_TABLES_RULE_SET_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "tables/rule.h"

/* The distinct rules of an image, numbered in order of arrival. Two numbers are fixed. */
#define RULE_SET_REFUSED 1 /* the walk ends with DP_UNSUPPORTED_RULE; 0 is DP_RULE_NONE */

struct word_entry;
struct full_entry;
struct saves_entry;
struct program_entry;

struct rule_set {
	uint64_t *words; /* by rule number */
	size_t n_rules, words_size;
	size_t n_full, n_saves;
	size_t program_cells;
	struct word_entry *by_word; /* uthash, as are the next ones */
	struct full_entry *full;
	struct saves_entry *saves;
	struct program_entry *programs;
};

/* Returns 0 or -ENOMEM. A zeroed set may be passed to rule_set_done(). */
int rule_set_init(struct rule_set *set);
void rule_set_done(struct rule_set *set);

/*
 * Returns the number of a rule, and adds it if it is new. rule->saves is ignored in favour of
 * `saves` (NULL: none). `programs` has the programs of the parts that need one (NULL: none).
 * -ENOMEM, or -ENOSPC if rule numbers are used up.
 */
int rule_set_add(struct rule_set *set, const struct dp_rule *rule, const struct dp_saves *saves,
		 const struct rule_programs *programs);

/*
 * Returns the number of the rule with this word, and adds it if it is new. A word of DP_FORM_FULL must come
 * from this set. -ENOMEM or -ENOSPC.
 */
int rule_set_add_word(struct rule_set *set, uint64_t word);

/*
 * Returns the offset in cells of a program in the set, and adds it if it is new. Errors as above.
 */
int rule_set_add_program(struct rule_set *set, const struct rule_program *program);

/* Writes all rules stored in full, all saves by number, and all programs. */
void rule_set_copy(const struct rule_set *set, struct dp_rule *to_full, struct dp_saves *to_saves,
		   uint64_t *to_programs);

#endif
