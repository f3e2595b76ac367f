/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_FUNCTION_TABLE_H
#define DP_FORMATS_FUNCTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "report/frame_values.h"
#include "report/report.h"
#include "report/symbolized.h"

/*
 * The functions of a report, each once, by number: for formats in which a function has one line.
 * That is its heaviest.
 */

struct function_entry {
	UT_hash_handle hh;
	/* The key: strings of the report's table, which can be compared as pointers. */
	struct function_key {
		const char *name;
		const char *file; /* source file, else the binary; NULL: not known */
		const char *kind; /* frame_kind_word(); NULL: a mark */
	} key;
	uint32_t number;
	unsigned int line, column; /* 0: not known */
	uint64_t weight;           /* of that line */
	struct value_texts texts;  /* of its calls: the caller's to add to */
};

struct function_table {
	struct function_entry *functions; /* by number */
	struct function_line *lines;
};

void function_table_done(struct function_table *table);

/* Returns a function, and adds to its weight. 0 or -ENOMEM. */
int function_table_add(struct function_table *table, struct report *report,
		       const struct symbolized_frame *symbolized, uint64_t weight,
		       struct function_entry **ret);

/*
 * The path of a source file, as a string that lives as long as the report; *ret is NULL if it is
 * not known. 0 or -ENOMEM.
 */
int symbolized_source(struct report *report, const struct symbolized_frame *symbolized,
		      const char **ret);

#endif
