/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_POD_NAMES_H
#define DP_AGENT_POD_NAMES_H

#include <stdint.h>

#include "base/hash.h"

/*
 * The names of this node's pods by their UIDs, from the directories that kubelet makes for their logs:
 * NAMESPACE_NAME_UID (pkg/kubelet/kuberuntime/helpers.go, BuildPodLogsDirectory()). The directory is read
 * when there is a new UID, but not often. One that others than root and this process's user may write
 * to says nothing.
 */
#define POD_NAMES_DIRECTORY "/var/log/pods"
#define POD_NAMES_AGAIN_NS UINT64_C(10000000000)

struct pod_name {
	UT_hash_handle hh; /* by uid */
	char uid[37];
	char name_space[254], name[254];
};

/* Starts as zeros, with a directory that the caller keeps. */
struct pod_names {
	const char *directory;
	struct pod_name *all;
	uint64_t again_ns; /* when it may be read again */
};

void pod_names_done(struct pod_names *pods);

/* now_ns: of any clock. NULL: it is not known. */
const struct pod_name *pod_names_find(struct pod_names *pods, const char *uid, uint64_t now_ns);

#endif
