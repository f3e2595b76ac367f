/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_UPROBE_LINKS_H
#define DP_KERNEL_UPROBE_LINKS_H

#include <stdbool.h>
#include <stddef.h>

struct bpf_link;
struct bpf_program;
struct uprobe_places;

/*
 * Attached uprobes. The kernel sets them one after the other in each process that maps the file, and cannot be
 * interrupted meanwhile, so they are attached in batches.
 */
struct uprobe_links {
	bool is_multi; /* a link sets several (uprobe.h): */
	int *fds;
	size_t n_fds, fds_size;
	struct bpf_link **links; /* else each has its own */
	size_t n_links, links_size;
	bool (*is_interrupted)(const void *arg); /* has the user interrupted it? NULL: no */
	const void *interrupt_arg;
};

/* The size of a batch. */
#define UPROBE_LINKS_AT_ONCE 64

/*
 * Attaches a program at all places, in all processes. Logs progress if that takes long, and errors. 0; -ECANCELED:
 * interrupted when some were set; or another negative errno.
 */
int uprobe_links_add(struct uprobe_links *links, const struct bpf_program *program,
		     const struct uprobe_places *places);

/* Detaches all. False: some are still being detached (removal_run()). */
bool uprobe_links_done(struct uprobe_links *links);

#endif
