/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_LABEL_PROBE_H
#define DP_PROFILER_LABEL_PROBE_H

#include "profiler/arguments.h"

struct parsers;
struct session;

/*
 * A probe whose values label the samples that are taken while its call is on the stack:
 * `label:PATH:NAME(VALUES)`.
 */

/* 0, or -EINVAL, and what is wrong. */
int label_probe_check(const char *text, char ret_why[ARGUMENTS_WHY_SIZE]);

/*
 * Begins to keep the values of calls; the session has needs.has_spans. Logs errors. 0 or a
 * negative errno. The caller frees *ret_lists: how the values are written, by the number of the list.
 */
int label_probe_attach(struct session *session, struct parsers *parsers, const char *text,
		       struct value_forms **ret_lists, size_t *ret_n);

#endif
