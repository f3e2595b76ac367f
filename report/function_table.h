/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_FUNCTION_TABLE_H
#define DP_REPORT_FUNCTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "report/report.h"
#include "report/symbolized.h"

/*
 * The functions of a report, each once and by number, in whatever lines they were met: for
 * formats in which a function is one thing. Its line is the one that weighs most.
 */

struct function_entry {
	UT_hash_handle hh;
	/* The key: strings of the report's own table, so that pointers tell them apart. */
	struct function_key {
		const char *name;
		const char *file; /* of the source, else of the binary; NULL: not known */
	} key;
	uint32_t number;
	unsigned int line, column; /* 0: not known */
	uint64_t weight;           /* of that line */
};

struct function_table {
	struct function_entry *functions; /* in the order of their numbers */
	struct function_line *lines;
};

void function_table_done(struct function_table *table);

/* The number of a function, which now weighs so much more. 0 or -ENOMEM. */
int function_table_add(struct function_table *table, struct report *report,
		       const struct symbolized_frame *symbolized, uint64_t weight, uint32_t *ret);

/*
 * The path of a source file, as one string that lives as long as the report; NULL in *ret
 * where it is not known. 0 or -ENOMEM.
 */
int symbolized_source(struct report *report, const struct symbolized_frame *symbolized,
		      const char **ret);

#endif
