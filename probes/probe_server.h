/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_PROBE_SERVER_H
#define DP_PROBES_PROBE_SERVER_H

#include "bpf/abi.h"

struct parsers;
struct redaction;
struct session;
struct spans;
struct value_labels;

/*
 * Lets clients add probes to a run through a Unix socket. Has its own thread, because setting a probe waits for each
 * process that maps the file. The mode of the socket, at first 0600, decides who may connect; the client's user
 * (SO_PEERCRED, unix(7)), what it may do.
 *
 * A request is one line, a JSON object, and so is its answer: {"error": TEXT}, or what was asked for.
 *
 *   {"do": "add", "kind": "uprobe", "path": FILE, "probe": "NAME(VALUES)", "name": LABEL,
 *    "max_rate": N, "pids": [PID, ...]}     with the opened file, by SCM_RIGHTS, and, of others
 *                                         than root, the /proc/PID/mem of each process: {"id": N}
 *   {"do": "remove"|"enable"|"disable", "id": N}     without an id: all: {"n": N}
 *   {"do": "list"}     {"probes": [{...}]}, as struct added_probe and dp_probe have it
 *   {"do": "status"}     {"pid": N, "probes": N, "limit": N}
 */
struct probe_server;

/* Descriptors that a request may have. */
#define PROBE_REQUEST_FDS (1 + DP_MAX_PROBE_PIDS)

/*
 * Listens at a path; NULL: *ret is NULL. Sets the sources of the values and of the calls of added probes.
 * redaction: of their texts; NULL: none. Logs errors. 0 or a negative errno.
 */
int probe_server_open(const struct session *session, struct parsers *parsers, const char *path,
		      const struct redaction *redaction, struct value_labels *labels,
		      struct spans *ret_spans, struct probe_server **ret);
/*
 * Silences all probes, and begins to remove them, without waiting. The session must still exist. Accepts NULL.
 */
void probe_server_end(struct probe_server *server);
/*
 * Ends it; waits for that for a bounded time. Call it before the session is closed, and after the last use of the
 * labels. Accepts NULL. Returns NULL.
 */
struct probe_server *probe_server_free(struct probe_server *server);

#endif
