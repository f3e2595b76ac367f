/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_ADDED_LABEL_H
#define DP_PROFILER_ADDED_LABEL_H

#include <stddef.h>

struct added_label;
struct added_means;
struct added_probe;
struct probe_lists;
struct probe_parts;
struct uprobe_reader;

/*
 * What an added probe needs if the calls of its functions label samples (label_probe.h). Of these, one at a
 * time is on. Each time it is, its places have other ids: calls that are kept from before do not count.
 */

/*
 * Finds the places and their code: sets probe->label, also on failure. Logs errors. 0 or a negative errno.
 */
int added_label_new(const struct added_means *means, const struct uprobe_reader *reader,
		    const struct probe_parts *parts, struct added_probe *probe,
		    struct probe_lists *ret_lists);
/* Accepts NULL. Returns NULL. */
struct added_label *added_label_free(struct added_label *label);

/*
 * Sets the probe, whose cookies are those of its lists, in some processes, or (none) in all. Logs errors. 0 or a
 * negative errno.
 */
int added_label_begin(const struct added_means *means, struct added_probe *probe,
		      const unsigned int *pids, size_t n_pids);
/* Before its probe is closed: samples are not labelled any more. */
void added_label_end(const struct added_means *means);

#endif
