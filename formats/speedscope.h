/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_SPEEDSCOPE_H
#define DP_FORMATS_SPEEDSCOPE_H

#include <stdio.h>

#include "formats/timeline.h"

/* Writes a timeline as speedscope's JSON, and sorts it. 0 or a negative errno. */
int speedscope_write(struct report *report, struct timeline *timeline, const struct totals *totals,
		     FILE *to);

#endif
