/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_SESSION_BLOCKED_H
#define DP_KERNEL_SESSION_BLOCKED_H

#include <stdbool.h>
#include <stdint.h>

struct dp_blocked;
struct session;

/*
 * A thread was found to have been blocked since before sampling began, and is taken for one that
 * the kernel has seen block. kernel_tid: its number in the initial PID namespace. -EEXIST: it has
 * run since; or another negative errno.
 */
int session_add_blocked(struct session *session, uint32_t kernel_tid,
			const struct dp_blocked *blocked);
void session_drop_blocked(struct session *session, uint32_t kernel_tid);
/* Has the kernel seen the thread block, or was it added? */
bool session_has_seen(const struct session *session, uint32_t kernel_tid);

/* Calls fn for each thread that has blocked since sampling began, until fn returns nonzero. */
int session_each_seen(const struct session *session,
		      int (*fn)(void *arg, const struct dp_blocked *blocked), void *arg);

/*
 * Calls fn for each thread that is blocked, with its blocked time up to until_ns if that is within
 * the limits, until fn returns nonzero.
 */
int session_each_blocked(const struct session *session, uint64_t until_ns,
			 int (*fn)(void *arg, const struct dp_blocked *blocked, uint64_t time_ns),
			 void *arg);

#endif
