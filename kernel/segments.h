/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_SEGMENTS_H
#define DP_KERNEL_SEGMENTS_H

#include <stdint.h>

#include "kernel/outer_map.h"
#include "kernel/session.h"

/*
 * The segments of a session's pool: maps that are mapped into this process, and that the programs find by number in
 * dp_pool. Each insertion into an array of maps waits for an RCU grace period (map_update_elem(),
 * kernel/bpf/syscall.c), so new segments are inserted together, once something in them is published.
 */

#define SEGMENT_MAP_SIZE (DP_SEGMENT_SIZE + DP_SEGMENT_SLACK)

/*
 * Makes segment number `index` of the session `arg`, for pool_init(). Before the programs are loaded,
 * SESSION_MADE can be made. 0, -ENOSPC or another negative errno.
 */
int segments_add(void *arg, uint32_t index, uint8_t **ret);

/* Inserts the new segments into the map that the programs read. 0 or a negative errno. */
int segments_show(struct session *session);

/*
 * Makes enough segments for most processes, so that their tables need not wait for a grace period, and
 * begins to insert these, and those made before. 0 or a negative errno.
 */
int segments_make_first(struct session *session, struct outer_map *ret);

/* Closes the descriptors of new segments: once the kernel knows one, its mapping is enough. */
void segments_close_made(struct session *session);

#endif
