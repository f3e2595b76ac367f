/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_PROBE_CLIENT_H
#define DP_CLI_PROBE_CLIENT_H

#include <jansson.h>
#include <stddef.h>

/* A connection to a run to which probes can be added (probes/probe_server.h). */

/* Returns a descriptor, or a negative errno, logged. */
int probe_client_connect(const char *path);

/*
 * Sends a request, which is freed, with n descriptors, and waits for the answer; the caller frees *ret.
 * Logs errors, also what the other side says. 0 or a negative errno.
 */
int probe_client_ask(int fd, json_t *request, const int *fds, size_t n, json_t **ret);

#endif
