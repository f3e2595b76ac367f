/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_PROBE_LISTS_H
#define DP_PROBES_PROBE_LISTS_H

#include <sys/types.h>

#include "probes/arguments.h"

struct parsers;
struct uprobe_places;

/*
 * The values that the kernel reads at the places of a probe, and how reports write them: a list per place, without
 * duplicates.
 */
struct probe_lists {
	struct dp_arguments *lists;
	struct value_forms *forms;
	size_t n;
};

/*
 * Makes them, and sets the places' cookies to their numbers. Parameters that are given by name are
 * looked up in debug information of a user's file, by the parsers. Logs errors. 0 or a negative errno;
 * probe_lists_done() frees *ret.
 */
int probe_lists_make(struct parsers *parsers, uid_t user, const struct arguments *arguments,
		     struct uprobe_places *places, struct probe_lists *ret);
/*
 * The same for places of USDT probes, whose notes tell where arguments are: `of` has one for each.
 */
int probe_lists_make_usdt(const struct arguments *arguments, const struct usdt_place *const *of,
			  struct uprobe_places *places, struct probe_lists *ret);
/*
 * Adds those of another file, whose places' cookies become numbers of *to; what is added is no longer
 * in *from. 0, or -E2BIG or -ENOMEM, logged.
 */
int probe_lists_join(struct probe_lists *to, struct probe_lists *from,
		     struct uprobe_places *places);
/*
 * Is there an integer with this name in each list? With `in_any`, in at least one: they are those of several
 * events.
 */
bool probe_lists_have_number(const struct probe_lists *lists, const char *name, bool in_any);
void probe_lists_done(struct probe_lists *lists);

#endif
