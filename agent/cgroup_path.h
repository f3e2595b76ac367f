/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_CGROUP_PATH_H
#define DP_AGENT_CGROUP_PATH_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Parses the path of a process's cgroup by the names that systemd, Kubernetes and container runtimes give to
 * cgroups. The innermost match counts, such as a container in a node that is itself a container.
 *
 *   unit            systemd.unit(5)        .../nginx.service
 *   pod             kubelet, pkg/kubelet/cm: kubepods-burstable-podUID.slice, kubepods/burstable/podUID
 *   container       docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope,
 *                   .../ID, SLICE:cri-containerd:ID; with a name, lxc.payload.NAME and
 *                   systemd-nspawn@NAME.service
 *
 * Users can create cgroups below those delegated to them, so any part of the path below user@UID.service, or below
 * a service within another one, may be forged.
 */
struct cgroup_path {
	char unit[256];           /* of a service, without `.service`; "": in none */
	char pod_uid[37];         /* "": in none */
	char container_id[65];    /* 64 hexadecimal digits; "": not known */
	char container_name[256]; /* "": not known */
	bool is_of_user;          /* may be forged by a user other than root */
	bool is_nested;           /* in a container's cgroup, and may be forged by the container */
};

/* Whether it is this cgroup, or in it; slashes at the end of `cgroup` do not count. */
bool cgroup_path_is_below(const char *path, const char *cgroup);

void cgroup_path_parse(const char *path, struct cgroup_path *ret);

/* The longest path that is read; the kernel's are shorter than PATH_MAX. */
#define CGROUP_PATH_SIZE 4096

/*
 * Reads a process's cgroup v2 path from the contents of /proc/PID/cgroup (cgroups(7)); if that is the root, as in
 * hybrid mode, the path in systemd's own v1 hierarchy. "": there is none.
 */
void cgroup_path_read(FILE *from, char ret[CGROUP_PATH_SIZE]);

#endif
