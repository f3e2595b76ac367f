/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_LIMIT_TABLE_H
#define DP_CLI_LIMIT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

/* The limits of limits/limits.def, for people or programs. 0 or a negative errno; also ferror(to). */
int limit_table_write_text(FILE *to, bool wide);
int limit_table_write_json(FILE *to);

#endif
