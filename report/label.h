/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_LABEL_H
#define DP_REPORT_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A fact about a sample besides its stack: a key with a text or a number, which may have a unit. */
struct label {
	const char *key;
	const char *text; /* NULL: a number */
	int64_t number;
	const char *unit; /* of a number: "bytes", "nanoseconds"; "": none */
	/* If it is a value of a probed call (struct frame): the probe's number, from 1; else 0 */
	unsigned char probe;
	bool is_decimal; /* the text is a number that need not be an integer: "0.5", "1e+20" */
};

/* Those of the span that a sample belongs to, which differ in nearly each sample. */
#define LABEL_TRACE_ID "trace_id"
#define LABEL_SPAN_ID "span_id"

/* Of exceptions: the type that was thrown, and the text of what(). */
#define LABEL_EXCEPTION_TYPE "exception.type"
#define LABEL_EXCEPTION_MESSAGE "exception.message"
#define LABEL_EXCEPTION_LANGUAGE "exception.language" /* of C++ there is none */
#define LABEL_LANGUAGE_JAVA "java"

static inline bool label_is_of_span(const char *key)
{
	return strcmp(key, LABEL_TRACE_ID) == 0 || strcmp(key, LABEL_SPAN_ID) == 0;
}

/* `route=/login`, `size=4096 bytes` */
void label_print(const struct label *label, FILE *to);

#endif
