/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_CGROUP_FILTER_H
#define DP_AGENT_CGROUP_FILTER_H

#include <stdbool.h>

struct sample;

/*
 * Which samples are of processes in a cgroup (v2) or below it. /proc/PID/cgroup is read when the first
 * sample of a process arrives, and again after a while or another name: a service gets its cgroup just
 * before it is executed. One that has ended by then stays where it was; it was in none if that is not
 * known.
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
