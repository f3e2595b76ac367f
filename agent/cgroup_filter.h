/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_CGROUP_FILTER_H
#define DP_AGENT_CGROUP_FILTER_H

#include <stdbool.h>

struct sample;

/*
 * Selects samples of processes in a cgroup (v2) or below it. Reads /proc/PID/cgroup at the first sample of a
 * process, and again after a while or when its name changes, because a service is moved to its cgroup just before
 * it is executed. A process that has ended by then keeps its last known cgroup, or counts as in none.
 */
struct cgroup_filter {
	const char *proc, *cgroup; /* the caller's */
	struct cgroup_process *processes;
};

/* proc: "/proc". */
void cgroup_filter_init(struct cgroup_filter *ret, const char *proc, const char *cgroup);
void cgroup_filter_done(struct cgroup_filter *filter);

bool cgroup_filter_has(struct cgroup_filter *filter, const struct sample *sample);

#endif
