/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TABLES_FORM_H
#define DP_CLI_TABLES_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/file_table.h"

/* Sums over all tables shown. */
struct tables_totals {
	uint64_t files;
	uint64_t rows;
	uint64_t image_bytes;
	uint64_t build_ns;
	uint64_t inexpressible; /* number of rows */
	uint64_t code_bytes, covered_bytes;
};

struct tables_output {
	FILE *to;
	bool several;     /* more than a single file given on the command line */
	size_t n_objects; /* JSON: objects written so far */
	struct tables_totals totals;
};

/*
 * An output format for tables: begin, one call per file, finish. Unused functions are NULL. Write
 * errors are left in the FILE's error indicator.
 */
struct tables_form {
	void (*begin)(struct tables_output *out);
	int (*add)(struct tables_output *out, const struct file_table *table); /* 0 or -ENOMEM */
	int (*fail)(struct tables_output *out, const char *path, const char *reason);
	void (*finish)(struct tables_output *out);
};

extern const struct tables_form tables_text; /* for people */
extern const struct tables_form tables_json; /* for machines; docs/FORMAT.md */
extern const struct tables_form tables_rows; /* row by row */

#endif
