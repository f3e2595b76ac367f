/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_ADDED_LABEL_H
#define DP_PROBES_ADDED_LABEL_H

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
 * The part of an added probe of kind label or span (label_probe.h). Only some of these are on at a time
 * (call_table.h). Each time one is enabled, its places get new ids, so that calls stored earlier do not count.
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
/* Ends the labelling of samples, and closes the probe. */
void added_label_end(const struct added_means *means, struct added_probe *probe);

#endif
