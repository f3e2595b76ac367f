/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_CGROUP_PATH_H
#define DP_AGENT_CGROUP_PATH_H

#include <stdbool.h>
#include <stdio.h>

/*
 * What the path of a process's cgroup tells: who made a cgroup gave it a name, and these are the
 * names that systemd, Kubernetes and the runtimes of containers give. The innermost one counts, such
 * as the container in a node that is a container itself.
 *
 *   unit            systemd.unit(5)        .../nginx.service
 *   pod             kubelet, pkg/kubelet/cm: kubepods-burstable-podUID.slice, kubepods/burstable/podUID
 *   container       docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope,
 *                   .../ID, SLICE:cri-containerd:ID; with a name, lxc.payload.NAME and
 *                   systemd-nspawn@NAME.service
 *
 * Users may make cgroups in those that were delegated to them: below user@UID.service, or below a
 * service in which there is another one, any of it may be made up.
 */
struct cgroup_path {
	char unit[256];           /* of a service, without `.service`; "": in none */
	char pod_uid[37];         /* "": in none */
	char container_id[65];    /* 64 hexadecimal digits; "": not known */
	char container_name[256]; /* "": not known */
	bool is_of_user;          /* may be made up by a user other than root */
	bool is_nested;           /* in a container's cgroup, and may be made up by that */
};

void cgroup_path_parse(const char *path, struct cgroup_path *ret);

/* The longest path that is read; the kernel's are shorter than PATH_MAX. */
#define CGROUP_PATH_SIZE 4096

/*
 * Reads the path of version 2 from what is in /proc/PID/cgroup (cgroups(7)); if that is the root, as
 * with both versions, the path in systemd's own hierarchy. "": there is none.
 */
void cgroup_path_read(FILE *from, char ret[CGROUP_PATH_SIZE]);

#endif
