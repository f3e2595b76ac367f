/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_REMOVAL_H
#define DP_KERNEL_REMOVAL_H

#include <stdbool.h>
#include <stddef.h>

struct bpf_link;

/* What connects programs with probes and events; the arrays are owned. */
struct removal_links {
	struct bpf_link **links;
	size_t n_links;
	int *fds; /* of links */
	size_t n_fds;
};

/*
 * Removes them and frees the arrays. For each, the kernel waits until no CPU runs the program: some 10 ms, or as long
 * as a process keeps its mappings locked. Threads do so in parallel. False: they take longer than
 * REMOVAL_PATIENCE_NS, and continue in the background.
 */
bool removal_run(const struct removal_links *links);

#endif
