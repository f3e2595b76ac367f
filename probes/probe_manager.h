/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_PROBE_MANAGER_H
#define DP_PROBES_PROBE_MANAGER_H

#include <jansson.h>
#include <stdbool.h>

#include "probes/added_probe.h"

/*
 * The probes that are added to a run, and who may change them: root all, others their own. To be used by
 * one thread at a time.
 */
struct probe_manager;

/* Takes over `slots`, holds `parsers`; the caller keeps the rest. 0, or -ENOMEM and nothing is taken over. */
int probe_manager_new(struct probe_slots *slots, struct parsers *parsers,
		      struct value_table *values, struct call_table *calls,
		      struct probe_manager **ret);
/* Removes all probes, which may take a while. Accepts NULL. Returns NULL. */
struct probe_manager *probe_manager_free(struct probe_manager *manager);

/* True if no probe is set. Otherwise call probe_manager_look() every second. */
bool probe_manager_is_idle(const struct probe_manager *manager);
void probe_manager_look(struct probe_manager *manager);

/* Sets a probe. Logs errors. 0 or a negative errno. */
int probe_manager_add(struct probe_manager *manager, struct probe_wish *wish, unsigned int *ret_id);

enum probe_change { PROBE_REMOVE, PROBE_ENABLE, PROBE_DISABLE };

/*
 * Changes a probe, or, with id 0, all that the user may change. Logs errors. Returns how many, or a negative errno.
 */
int probe_manager_change(struct probe_manager *manager, enum probe_change change, unsigned int id,
			 uid_t user);

/* Those that the user may change, as an array of objects; NULL: out of memory. */
json_t *probe_manager_list(struct probe_manager *manager, uid_t user);
/* Likewise, those that have ended by themselves: their numbers, and why. */
json_t *probe_manager_list_ended(const struct probe_manager *manager, uid_t user);
/* Likewise, those whose file has changed: their numbers, and what that means. */
json_t *probe_manager_list_changed(const struct probe_manager *manager, uid_t user);

#endif
