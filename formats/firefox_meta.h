/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_FIREFOX_META_H
#define DP_FORMATS_FIREFOX_META_H

#include <stdio.h>

#include "report/frame_kind.h"
#include "report/report.h"

/* The head of the Firefox Profiler's format: what was profiled, and how to read the rest. */

/* Categories of frames, each with its own colour; those of languages follow. */
enum category { CATEGORY_OTHER, CATEGORY_USER, CATEGORY_KERNEL, CATEGORY_OFF_CPU, CATEGORY_N };
#define CATEGORY_LANGUAGE(kind) ((enum category)(CATEGORY_N + (kind)-FRAME_FIRST_LANGUAGE))

/* Writes the field "meta" for samples up to end_ns (CLOCK_MONOTONIC). 0 or -ENOMEM. */
int firefox_put_meta(const struct report_context *context, const struct totals *totals,
		     uint64_t end_ns, FILE *to);

/* Milliseconds since sampling began. */
double firefox_ms(const struct report_context *context, uint64_t time_ns);

/* Writes a field with a text. 0 or -ENOMEM. */
int firefox_put_text(const char *name, const char *text, FILE *to);

#endif
