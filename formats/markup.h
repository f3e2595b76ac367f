/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_MARKUP_H
#define DP_FORMATS_MARKUP_H

#include <stdint.h>
#include <stdio.h>

#include "report/report_context.h"

/* Text between the tags of HTML and XML, and in attributes. */

/* Replaces what XML does not allow by question marks, and all that text_make_plain() does. */
void markup_make_plain(char *text);

/*
 * Writes any bytes as text: special characters as entities, control characters and what is not
 * UTF-8 as question marks. 0 or -ENOMEM.
 */
int markup_put_text(const char *text, FILE *to);

/* A number with spaces between thousands. */
void markup_put_count(uint64_t count, FILE *to);

/* A value of a report: a time such as "1.23 s", else a count. */
void markup_put_value(const struct report_context *context, uint64_t value, FILE *to);

/* "cpu-clock at 99 Hz", or only the event. */
int markup_put_event(const struct report_context *context, FILE *to);

#endif
