/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_PROBE_PEERS_H
#define DP_PROFILER_PROBE_PEERS_H

#include "profiler/probe_peer.h"

/*
 * Where one more of a user has a place, of PROBE_PEERS_MAX: in one that is free, else in that of one who has to go,
 * be it the user's own, of somebody who has more than they, or root's. To root, who has most gives one, or of others
 * who has most if all of root's wait: it has none only if all are its own. Of one user's, those who wait
 * (probe_peer_waits()) go last, and then the youngest, but never for the same user's: NULL, there is no place for
 * what comes now.
 */
struct probe_peer *probe_peers_find_place(struct probe_peer *peers, uid_t user);

/* Tells one who is not served why. Without waiting: it may not read. */
void probe_peers_refuse(int fd);

#endif
