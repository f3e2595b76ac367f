/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_PROBE_PEERS_H
#define DP_PROBES_PROBE_PEERS_H

#include "probes/probe_peer.h"

/*
 * Returns the slot for a new connection of a user, or NULL. A free slot if the user is root or has fewer
 * than PROBE_PEERS_OF_USER. Otherwise one is evicted:
 *
 *   - a user at that limit loses one of their own;
 *   - for root, the user with most connections (root itself counts only while one of its own is not
 *     waiting);
 *   - for others, the user with most if that is more than theirs and more than one, else root, else
 *     themselves.
 *
 * Among a user's connections, idle ones go first, oldest first; then waiting ones (probe_peer_waits())
 * without an answer being sent, youngest first. A waiting one is never evicted for its own user.
 */
struct probe_peer *probe_peers_find_place(struct probe_peer *peers, uid_t user);

/* Tells one who is not served why. Without waiting: it may not read. */
void probe_peers_refuse(int fd);

#endif
