/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_COLOURS_H
#define DP_TEXT_COLOURS_H

#include <stdio.h>

/* Escape sequences for a terminal; empty for anything else. */
struct colours {
	const char *bold, *dim, *hot, *warm, *good, *normal;
};

/* Colours only for a terminal, unless they are unwanted (https://no-color.org). */
const struct colours *colours_for(FILE *to);

/* Prints a share in percent, highlighted if it is large. */
void colours_put_share(const struct colours *colours, double share, FILE *to);

#endif
