/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_LABEL_H
#define DP_REPORT_LABEL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A fact about a sample besides its stack: a key with a text or a number, which may have a unit. */
struct label {
	const char *key;
	const char *text; /* NULL: a number */
	int64_t number;
	const char *unit; /* of a number: "bytes", "nanoseconds"; "": none */
};

/* `route=/login`, `size=4096 bytes` */
void label_print(const struct label *label, FILE *to);

#endif
