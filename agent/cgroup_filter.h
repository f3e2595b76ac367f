/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_CGROUP_FILTER_H
#define DP_AGENT_CGROUP_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Which processes are in a cgroup (v2) or below it, by /proc/PID/cgroup, which is read once for each
 * process. One that has ended before is in none.
 */
struct cgroup_filter {
	const char *cgroup; /* the caller's */
	struct cgroup_process *processes;
};

void cgroup_filter_init(struct cgroup_filter *ret, const char *cgroup);
void cgroup_filter_done(struct cgroup_filter *filter);

bool cgroup_filter_has(struct cgroup_filter *filter, pid_t pid);

#endif
