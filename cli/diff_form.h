/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_DIFF_FORM_H
#define DP_CLI_DIFF_FORM_H

#include <stdbool.h>
#include <stdio.h>

#include "report/flame_graph.h"
#include "report/function_counts.h"

/* The formats in which `dwarfprof diff' shows two profiles. Side 0 is A, side 1 is B. */

struct diff_side {
	const char *path;
	const struct report_context *context;
	const struct totals *totals;
};

struct diff {
	struct diff_side sides[REPORT_SIDES];
	size_t top; /* number of functions in text and html */
	bool wide;  /* report_context.wide */
	/* What the form needs of these; the others are empty. */
	struct function_counts functions;
	const struct function_row **rows; /* all of them, the largest changes first */
	size_t n_rows;
	char *folded[REPORT_SIDES];
	struct flame_graph graph;
};

enum diff_needs { DIFF_FUNCTIONS = 1, DIFF_FOLDED = 2, DIFF_GRAPH = 4 };

struct diff_form {
	/* Name and extensions, for options, paths and messages; it makes no report. */
	struct report_format format;
	unsigned int needs; /* enum diff_needs, or'ed */
	/* 0, -ENOMEM or another negative errno. May sort the graph. */
	int (*print)(struct diff *diff, FILE *to);
};

extern const struct diff_form diff_form_text, diff_form_json;
/* Lines `stack COUNT-A COUNT-B', as flamegraph.pl's difffolded.pl writes them. */
extern const struct diff_form diff_form_folded;
/* A differential flame graph, and a page with it and with the functions. */
extern const struct diff_form diff_form_svg, diff_form_html;

/* The form with that name, or for files with that extension; NULL: there is none. */
const struct diff_form *diff_form_by_name(const char *name);
const struct diff_form *diff_form_by_path(const char *path);
/* Writes the names of the forms: "text (.txt), json (.json)". */
void diff_form_list(FILE *to);

/* Writes a line about a side: "A: a.dwarfprof: prog (PID 1), cpu-clock, 1.0 s, 99 samples, ...". */
int diff_put_side(const struct diff *diff, size_t side, FILE *to);

/* Returns a value as a percentage of the side's total. */
double diff_percent(const struct diff *diff, size_t side, uint64_t value);
/* Is the statistical noise of shares known? Not for times, nor for scaled samples. */
bool diff_knows_noise(const struct diff *diff);
/*
 * Could a share be the same in A and B, and differ by chance: is the p-value of Pearson's chi-squared
 * test above 1 %, or an expected count below 5?
 */
bool diff_is_noise(const struct diff *diff, const uint64_t values[REPORT_SIDES]);
/* B minus A, in percentage points. */
double diff_change(const struct diff *diff, const uint64_t values[REPORT_SIDES]);

#endif
