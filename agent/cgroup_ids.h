/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_CGROUP_IDS_H
#define DP_AGENT_CGROUP_IDS_H

#include <limits.h>
#include <stdint.h>

#include "base/hash.h"

/*
 * The paths of cgroups (v2) by the ids that samples have, which are the numbers of their directories' inodes
 * (kernfs_ino(), include/linux/kernfs.h of the kernel). Other than /proc, they also tell where a process was that
 * has ended, unless its cgroup came and went between two searches. What was removed is remembered for a while.
 */
#define CGROUP_IDS_AGAIN_NS UINT64_C(1000000000)
#define CGROUP_IDS_FORGET_NS UINT64_C(60000000000)

struct cgroup_id;

/* Starts as zeros: nothing is known. */
struct cgroup_ids {
	char root[PATH_MAX]; /* where cgroup v2 is mounted; "": nowhere */
	struct cgroup_id *all;
	unsigned int n;
	uint64_t again_ns; /* when the next search may be */
};

void cgroup_ids_done(struct cgroup_ids *ids);

/*
 * Sets root to a mount of cgroup v2 in a file such as /proc/self/mounts, fstab(5): one of the whole hierarchy, else
 * the first, as a container has one of its own cgroup.
 */
void cgroup_ids_find_root(struct cgroup_ids *ids, const char *mounts);

/*
 * These return a path as in /proc/PID/cgroup, below root, or NULL: it is not known. It is valid until the next
 * call. now_ns: of any clock.
 *
 * cgroup_ids_confirm(): whether it is this one, as /proc says, which may have changed. cgroup_ids_search(): reads
 * all directories, but not more often than takes a hundredth of a CPU.
 */
const char *cgroup_ids_find(const struct cgroup_ids *ids, uint64_t id);
const char *cgroup_ids_confirm(struct cgroup_ids *ids, uint64_t id, const char *path,
			       uint64_t now_ns);
const char *cgroup_ids_search(struct cgroup_ids *ids, uint64_t id, uint64_t now_ns);

#endif
