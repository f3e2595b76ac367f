/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_CALLS_SECTION_H
#define DP_TEXT_CALLS_SECTION_H

#include <stdio.h>

struct colours;
struct totals;

/*
 * Prints how long the probed calls took (span_times.h) that the totals have, and how many samples are in none of
 * them. 0 or -ENOMEM.
 */
int calls_print(const struct totals *totals, const struct colours *colours, FILE *to);

#endif
