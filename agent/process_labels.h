/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_PROCESS_LABELS_H
#define DP_AGENT_PROCESS_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/label_set.h"
#include "report/sample.h"

/*
 * Labels of processes beyond what a sample carries, named as in OpenTelemetry's semantic conventions:
 *
 *   process.linux.cgroup, process.executable.path
 *   service.name              its systemd unit, or else its container's name
 *   service.origin            who may have made that up: "user", in a cgroup of its own or a pod, or
 *                             "program", whose own name it is, and not that of the unit or container
 *   container.id, container.name, k8s.pod.uid      cgroup_path.h
 *   k8s.namespace.name, k8s.pod.name               pod_names.h, containers.h
 *   container.name, container.image.name, k8s.container.name      containers.h
 *
 * Reads /proc when the first sample of a process arrives, some time after it was taken, and again after a while or
 * when the name or cgroup changes, because a service is moved to its cgroup just before it is executed. A process
 * that has ended by then has no executable's path, and the labels of its cgroup only if the sample says which one,
 * and that is known (cgroup_ids.h): it does not get those of a later process with its PID, which started after the
 * sample. Only one thread at a time may use it.
 */
struct parsers;
struct process_labels;

/*
 * proc: "/proc"; pods: POD_NAMES_DIRECTORY. The caller keeps both, and the count of processes that had
 * ended before their cgroup was read. 0 or -ENOMEM.
 */
int process_labels_new(const char *proc, const char *pods, _Atomic uint64_t *missed,
		       struct process_labels **ret);
/*
 * From now on, files of containers' runtimes below a root directory ("": /), which the caller keeps, are
 * read by these parsers, which are held (containers.h).
 */
void process_labels_set_containers(struct process_labels *processes, const char *root,
				   struct parsers *parsers);
/*
 * From now on, samples with a cgroup are of that one, if it is known (cgroup_ids.h). False: as before, since cgroup
 * v2 is not among the mounts.
 */
bool process_labels_set_cgroups(struct process_labels *processes, const char *mounts);
/* Accepts NULL. Returns NULL. */
struct process_labels *process_labels_free(struct process_labels *processes);

/*
 * Whether a resource's label, by either of its names, says where a process runs. A program may choose its service's
 * name, but not its pod, cgroup or host. Returns 0, 1 or -ENOMEM.
 */
int process_label_is_fact(const char *key);

/*
 * The labels of a sample with those of its process. A program may set its own service.*; what it sets
 * of process.*, container.*, k8s.*, host.* and __* for its resource is left out. *ret is valid until
 * the next call; NULL: none. 0 or -ENOMEM.
 */
int process_labels_of(struct process_labels *processes, const struct sample *sample,
		      const struct label_set **ret);

/* The path of its cgroup, as in its labels; NULL: not known. Valid until the next call. */
const char *process_labels_cgroup(struct process_labels *processes, const struct sample *sample);

#endif
