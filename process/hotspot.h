/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_HOTSPOT_H
#define DP_PROCESS_HOTSPOT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtimes/hotspot/code.h"

struct mapping;
struct process;
struct process_table;

/*
 * The HotSpot JVM of a process, if it has one: recognized by the symbols that a mapped library exports. Its memory is
 * read for the location of its code, repeatedly until it has started.
 */
struct hotspot;

/* A mapping's binary is known. If memory is short, the process is one without a JVM. */
void hotspot_meet(struct process *process, const struct mapping *mapping);

/* Does hotspot_update() for all processes, waiting briefly for memory that cannot be read yet. */
void hotspot_settle(struct process_table *table);

/*
 * Looks at the JVM again if it is time. To be called often. Warns of one that is of an unknown kind, the
 * first few times.
 */
void hotspot_update(struct process_table *table, struct process *process, uint64_t now);

/* How many more there were. */
void hotspot_tell_unknown(const struct process_table *table);

/* False: hotspot_update() will do nothing more. NULL is allowed. */
bool hotspot_is_starting(const struct hotspot *hotspot);

/* Of a child of the process. NULL: there is none. */
struct hotspot *hotspot_copy(const struct hotspot *hotspot);
/* NULL is allowed. Returns NULL. */
struct hotspot *hotspot_free(struct hotspot *hotspot);

/* The layout of its structures; NULL: not known (yet), or no JVM. */
const struct hotspot_layout *hotspot_layout(const struct hotspot *hotspot);

/* Where the code is; NULL: not known (yet), as is a hotspot of NULL. */
const struct dp_hotspot *hotspot_code(const struct hotspot *hotspot);

#endif
