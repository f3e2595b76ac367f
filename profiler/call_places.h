/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_CALL_PLACES_H
#define DP_PROFILER_CALL_PLACES_H

#include <stdbool.h>

#include "kernel/uprobe_places.h"

struct parsers;
struct probe_lists;
struct probe_parts;
struct probed_code;

/*
 * Where the calls begin that label samples, in the file that `reader` opens; the lists that are read there,
 * whose numbers are the places' cookies; and the functions' code, of which the caller sets the places' ids.
 * has_ends: also where the calls return, among the places' functions. Logs errors. 0 or a negative errno;
 * uprobe_places_done(), probe_lists_done() and free(ret_code->maybe) are for what is set, also then.
 */
int call_places_find(struct parsers *parsers, const struct uprobe_reader *reader,
		     const struct probe_parts *parts, bool has_ends, struct uprobe_places *ret,
		     struct probe_lists *ret_lists, struct probed_code *ret_code);

/* Where they end. Offsets and cookies, those of the calls, are its own; the rest is borrowed. */
struct call_ends {
	struct uprobe_places places;
};

/* Of places with their ends. Logs errors. 0 or a negative errno; call_ends_done() also then. */
int call_ends_find(const struct probe_parts *parts, const struct uprobe_places *places,
		   struct call_ends *ret);
void call_ends_done(struct call_ends *ends);

#endif
