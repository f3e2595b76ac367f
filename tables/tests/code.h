/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_TESTS_CODE_H
#define DP_TABLES_TESTS_CODE_H

/* Code written as hex digits, and rules as `dwarfprof tables --rows` prints them. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tables/decode.h"
#include "tables/rule_set.h"

/* Converts hex digits, with spaces anywhere. Returns the number of bytes. */
static inline size_t assemble(const char *hex, uint8_t *ret, size_t size)
{
	unsigned int byte;
	size_t n = 0;
	int length;

	for (; sscanf(hex, " %2x%n", &byte, &length) == 1; hex += length) {
		cr_assert(n < size);
		ret[n++] = (uint8_t)byte;
	}
	cr_assert(strspn(hex, " ") == strlen(hex), "no hex digit: %s", hex);
	return n;
}

/* Prints the rule with a number, without addresses; valid until the next call. */
static inline const char *print_rule(const struct rule_set *set, uint16_t number)
{
	static char *text;
	struct dp_rule *full = calloc(set->n_full + 1, sizeof(*full));
	struct dp_saves *saves = calloc(set->n_saves + 1, sizeof(*saves));
	uint64_t *programs = calloc(set->program_cells + 1, sizeof(*programs));
	struct image_row row = { .programs = programs };
	uint64_t word = set->words[number];
	size_t size;
	FILE *to;

	free(text);
	cr_assert((word & ((1 << DP_FORM_BITS) - 1)) == DP_FORM_FULL, "kept in full");
	rule_set_copy(set, full, saves, programs);
	row.rule = full[word >> DP_FORM_BITS & ((1 << DP_WORD_N_BITS) - 1)];
	if (row.rule.saves & DP_SAVES_APART)
		row.saves = saves[row.rule.saves & ~DP_SAVES_APART];
	to = open_memstream(&text, &size);
	image_row_print(&row, 1, to);
	fclose(to);
	text[strcspn(text, "\n")] = '\0';
	free(full);
	free(saves);
	free(programs);
	return text + strlen("0 0 ");
}

#endif
