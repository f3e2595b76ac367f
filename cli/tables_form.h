/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TABLES_FORM_H
#define DP_CLI_TABLES_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/file_table.h"

/* Of all tables shown. */
struct tables_totals {
	uint64_t files;
	uint64_t rows;
	uint64_t image_bytes;
	uint64_t build_ns;
	uint64_t inexpressible; /* rows */
	uint64_t code_bytes, covered_bytes;
};

struct tables_output {
	FILE *to;
	bool several; /* not just the one file that the command line names */
	bool regs;
	size_t n_objects; /* JSON: written until now */
	struct tables_totals totals;
};

/*
 * A form in which tables are shown: begin, one call per file, finish. What a
 * form does not need is NULL. Errors of writing show in the FILE.
 */
struct tables_form {
	void (*begin)(struct tables_output *out);
	int (*add)(struct tables_output *out, const struct file_table *table); /* 0 or -ENOMEM */
	int (*fail)(struct tables_output *out, const char *path, const char *reason);
	void (*finish)(struct tables_output *out);
};

extern const struct tables_form tables_text; /* for people */
extern const struct tables_form tables_json; /* for machines; docs/FORMAT.md */
extern const struct tables_form tables_rows; /* row by row; image_row_print() */

#endif
