/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_DIFF_FORM_H
#define DP_CLI_DIFF_FORM_H

#include <stdbool.h>
#include <stdio.h>

#include "report/function_counts.h"

/* The formats in which `dwarfprof diff' shows two profiles. Side 0 is A, side 1 is B. */

struct diff_side {
	const char *path;
	const struct report_context *context;
	const struct totals *totals;
};

struct diff {
	struct diff_side sides[FUNCTION_COUNTS_SIDES];
	size_t top; /* number of rows in the text format */
	bool wide;  /* report_context.wide */
	struct function_counts functions;
	const struct function_row **rows; /* `top` of them, the largest changes first */
	size_t n_rows;
	char *folded[FUNCTION_COUNTS_SIDES];
};

/* Prints to stdout. 0, or -ENOMEM or another negative errno. */
int diff_print_text(const struct diff *diff);
int diff_print_json(const struct diff *diff);
/* Prints lines `stack COUNT-A COUNT-B', as flamegraph.pl's difffolded.pl does. */
int diff_print_folded(const struct diff *diff);

/* Writes the names of the formats: "text, json". */
void diff_form_list(FILE *to);

/* Returns a value as a percentage of the side's total. */
double diff_percent(const struct diff *diff, size_t side, uint64_t value);
/* Is it known how far shares differ by chance? Not of times, nor of samples that were scaled. */
bool diff_knows_noise(const struct diff *diff);
/*
 * Could a share be the same in A and B, and differ by chance: is the p-value of Pearson's chi-squared
 * test above 1 %, or an expected count below 5?
 */
bool diff_is_noise(const struct diff *diff, const uint64_t values[FUNCTION_COUNTS_SIDES]);
/* B minus A, in percentage points. */
double diff_change(const struct diff *diff, const uint64_t values[FUNCTION_COUNTS_SIDES]);

#endif
