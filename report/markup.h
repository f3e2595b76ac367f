/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_MARKUP_H
#define DP_REPORT_MARKUP_H

#include <stdint.h>
#include <stdio.h>

#include "report/report.h"

/* Text between the tags of HTML and XML, and in attributes. */

/*
 * Any bytes: what markup gives a meaning to is written as an entity, control characters
 * and what is not UTF-8 as question marks. 0 or -ENOMEM.
 */
int markup_put_text(const char *text, FILE *to);

/* A number with a space between thousands. */
void markup_put_count(uint64_t count, FILE *to);

/* A value of a report: "1.23 s" where it is time, else a count. */
void markup_put_value(const struct report_context *context, uint64_t value, FILE *to);

/* "cpu-clock at 99 Hz", or the event alone. */
int markup_put_event(const struct report_context *context, FILE *to);

#endif
