/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_CONTAINER_FILE_H
#define DP_SANDBOX_CONTAINER_FILE_H

#include <stdbool.h>

/*
 * What a container's runtime has recorded about it. The files belong to root, but users of a cluster
 * choose words in them. These formats are recognised by their contents:
 *
 *   Docker          config.v2.json of moby, container/container.go; labels by cri-dockerd
 *   containerd      config.json of the OCI runtime specification, with annotations of containerd,
 *                   internal/cri/annotations/annotations.go, or of nerdctl, pkg/labels/labels.go
 *   CRI-O           the same with annotations of cri-o, pkg/annotations/internal.go, and kubelet's labels,
 *                   pkg/kubelet/types/labels.go
 *   Podman          the list containers.json of containers/storage, containers.go
 */
#define CONTAINER_ID_SIZE 65

/* Letters, digits, `_.-', in images also `/:'. "": not known. */
struct container_names {
	char name[256];
	char image[256];         /* without tag and digest */
	char k8s_container[254]; /* as its pod calls it */
	char pod[254], name_space[254];
};

/*
 * Reads it from a file of any kind that the caller keeps. Names that are too long, or have other
 * characters, are left out. 0; -ENODATA: nothing is known of the container; -EFBIG above
 * CONTAINER_FILE_MAX_SIZE; -EBADMSG: it is not JSON or cannot be read; or -ENOMEM. If not 0, *ret is empty.
 */
int container_file_read(int fd, const char *id, struct container_names *ret);

/* Whether these are possible results of container_file_read(). */
bool container_names_are_sound(const struct container_names *names);

#endif
