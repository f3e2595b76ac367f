/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_CALL_PLACES_H
#define DP_PROBES_CALL_PLACES_H

#include <stdbool.h>

#include "kernel/uprobe_places.h"

struct parsers;
struct probe_lists;
struct probe_parts;
struct probed_code;

/*
 * Finds, in the file that `reader` opens, the entries of the probed functions; the lists of values to read
 * there, whose numbers are the places' cookies; and the functions' code ranges (the caller sets the ids of
 * their places). has_ends: also lists the functions' exits. Logs errors. 0 or a negative errno. The caller
 * releases the results by uprobe_places_done(), probe_lists_done() and free(ret_code->maybe), even after errors.
 */
int call_places_find(struct parsers *parsers, const struct uprobe_reader *reader,
		     const struct probe_parts *parts, bool has_ends, struct uprobe_places *ret,
		     struct probe_lists *ret_lists, struct probed_code *ret_code);

/* The exits of probed functions. Owns the offsets and the cookies (those of the entries); borrows the rest. */
struct call_ends {
	struct uprobe_places places;
};

/* `places` must list exits (has_ends). Logs errors. 0 or a negative errno; call call_ends_done() in either case. */
int call_ends_find(const struct probe_parts *parts, const struct uprobe_places *places,
		   struct call_ends *ret);
void call_ends_done(struct call_ends *ends);

#endif
