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
 * Removes them, and frees the arrays. The kernel waits at each until nobody runs the program any more: some
 * hundredths of a second, or as long as a process keeps its mappings locked. Threads share that wait. False:
 * they need longer than REMOVAL_PATIENCE_NS, and go on.
 */
bool removal_run(const struct removal_links *links);

#endif
