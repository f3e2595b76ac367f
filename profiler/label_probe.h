/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_LABEL_PROBE_H
#define DP_PROFILER_LABEL_PROBE_H

#include "profiler/arguments.h"

struct event_text;
struct parsers;
struct profiler_options;
struct session;

/*
 * A probe whose values label the samples that are taken while its call is on the stack:
 * `label:PATH:NAME(VALUES)`.
 */

/* 0, or -EINVAL, and what is wrong. */
int label_probe_check(const char *text, char ret_why[ARGUMENTS_WHY_SIZE]);

/*
 * Attaches options->label_probe, if there is one, and then the event. Sets how the values of both are
 * written; *ret_labels refers to *ret. The parsers read files, NULL: this process does. Logs errors. 0 or a
 * negative errno.
 */
int label_probe_attach(struct session *session, struct parsers *parsers,
		       const struct profiler_options *options, struct event_text *ret,
		       struct value_labels *ret_labels);

#endif
