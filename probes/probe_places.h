/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_PROBE_PLACES_H
#define DP_PROBES_PROBE_PLACES_H

struct parsers;
struct probe_lists;
struct probe_parts;
struct uprobe_places;
struct uprobe_reader;

/*
 * Where a probe at calls, returns or static probes is to be set, in the file that `reader` opens, and, if
 * it has values, the lists that are read there, as in the places' cookies. Logs errors. 0 or a negative
 * errno; uprobe_places_done() and probe_lists_done() free both, also then.
 */
int probe_places_find(struct parsers *parsers, const struct uprobe_reader *reader,
		      const struct probe_parts *parts, struct uprobe_places *ret,
		      struct probe_lists *ret_lists);

#endif
