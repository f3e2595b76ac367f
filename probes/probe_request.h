/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_PROBE_REQUEST_H
#define DP_PROBES_PROBE_REQUEST_H

#include <jansson.h>

struct probe_manager;
struct probe_peer;

/* Does what a peer's request (probe_server.h) asks for. The answer; NULL: out of memory. */
json_t *probe_request_answer(struct probe_manager *manager, const struct probe_peer *peer);

#endif
