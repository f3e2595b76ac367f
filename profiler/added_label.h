/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_ADDED_LABEL_H
#define DP_PROFILER_ADDED_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct added_label;
struct added_means;
struct added_probe;
struct probe_lists;
struct probe_parts;
struct probe_wish;
struct uprobe_reader;

/*
 * What an added probe needs if the calls of its functions label samples, or those that take long enough do
 * (label_probe.h). Of these, some are on at a time (call_table.h). Each time one is, its places have other ids:
 * calls that are kept from before do not count.
 */

/* Is one asked for? */
bool added_label_is_wanted(const struct probe_wish *wish);

/*
 * Finds the places and their code: sets probe->label, also on failure. min_ns: of a span, the least time. Logs
 * errors. 0 or a negative errno.
 */
int added_label_new(const struct added_means *means, const struct uprobe_reader *reader,
		    const struct probe_wish *wish, const struct probe_parts *parts, uint64_t min_ns,
		    struct added_probe *probe, struct probe_lists *ret_lists);
/* The value of the label SPANS_LABEL of its samples; "": they have none. */
const char *added_label_name(const struct added_label *label);
/* Accepts NULL. Returns NULL. */
struct added_label *added_label_free(struct added_label *label);

/*
 * Sets the probe, whose cookies are those of its lists, in some processes, or (none) in all. Logs errors. 0 or a
 * negative errno.
 */
int added_label_begin(const struct added_means *means, struct added_probe *probe,
		      const unsigned int *pids, size_t n_pids);
/* Samples are not labelled any more; closes the probe, too. */
void added_label_end(const struct added_means *means, struct added_probe *probe);

#endif
