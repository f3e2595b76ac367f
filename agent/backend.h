/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_BACKEND_H
#define DP_AGENT_BACKEND_H

#include <stdbool.h>

#include "deliver/deliver.h"
#include "report/report.h"

/* Where profiles are delivered to. */
struct backend_options {
	enum deliver_protocol protocol;
	const char *url;
};

struct backend;

/*
 * spool: a directory, in which each backend has its own; NULL: what waits is in memory. Logs errors.
 * 0 or a negative errno.
 */
int backend_open(const struct backend_options *options, const char *spool, uint64_t spool_bytes,
		 struct backend **ret);
/* Delivers what can be delivered within that time. Accepts NULL. Returns NULL. */
struct backend *backend_close(struct backend *backend, uint64_t time_ns);

bool backend_is(const struct backend *backend, const struct backend_options *options,
		const char *spool);
const char *backend_url(const struct backend *backend);
struct deliver_counts backend_counts(struct backend *backend);

/*
 * Makes a report that puts its samples into the spool when it is finished. The context's start may
 * be changed before the first sample. 0 or -ENOMEM.
 */
int backend_report_new(struct backend *backend, const struct report_context *context,
		       struct report **ret);

#endif
