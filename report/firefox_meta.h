/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_FIREFOX_META_H
#define DP_REPORT_FIREFOX_META_H

#include <stdio.h>

#include "report/report.h"

/* The head of the Firefox Profiler's format: what was profiled, and how to read the rest. */

/* Kinds of frames, each with a colour of its own. */
enum category { CATEGORY_OTHER, CATEGORY_USER, CATEGORY_KERNEL, CATEGORY_OFF_CPU };

/* The field "meta", of samples up to end_ns (CLOCK_MONOTONIC). 0 or -ENOMEM. */
int firefox_put_meta(const struct report_context *context, const struct totals *totals,
		     uint64_t end_ns, FILE *to);

/* Milliseconds since sampling began. */
double firefox_ms(const struct report_context *context, uint64_t time_ns);

/* A field whose value is a text. 0 or -ENOMEM. */
int firefox_put_text(const char *name, const char *text, FILE *to);

#endif
