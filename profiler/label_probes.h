/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_LABEL_PROBES_H
#define DP_PROFILER_LABEL_PROBES_H

struct event_means;
struct event_text;
struct profiler_options;
struct spans;
struct value_labels;

/* A run's probes whose calls label samples (probes/label_probe.h). */

/* Attaches options->label_probes, if there are any. Logs errors. 0 or a negative errno. */
int label_probes_attach(const struct event_means *means, const struct profiler_options *options,
			struct event_text *ret);
/*
 * Moves the description of these probes to that of the event, *ret. Sets how the values of both are written, and
 * which samples count; *ret_labels and *ret_spans refer to *ret.
 */
void label_probes_describe(const struct profiler_options *options, const struct event_text *probes,
			   struct event_text *ret, struct value_labels *ret_labels,
			   struct spans *ret_spans);

#endif
