/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_UPROBE_LINKS_H
#define DP_KERNEL_UPROBE_LINKS_H

#include <stdbool.h>
#include <stddef.h>

struct bpf_link;
struct bpf_program;
struct uprobe_places;

/*
 * Uprobes of programs. The kernel sets one after the other, in each process that maps the file, and does not look
 * whether anybody still wants that: so it is asked for some at a time.
 */
struct uprobe_links {
	bool is_multi; /* a link sets several (uprobe.h): */
	int *fds;
	size_t n_fds, fds_size;
	struct bpf_link **links; /* else each has its own */
	size_t n_links, links_size;
	bool (*is_interrupted)(const void *arg); /* does the user want it to end? NULL: no */
	const void *interrupt_arg;
};

/* So many are set at a time. */
#define UPROBE_LINKS_AT_ONCE 64

/*
 * Attaches a program at all places, in all processes. Tells how far it is if that takes long. Logs errors. 0,
 * -ECANCELED: it was interrupted, and some are set; or another negative errno.
 */
int uprobe_links_add(struct uprobe_links *links, const struct bpf_program *program,
		     const struct uprobe_places *places);

/* Detaches all. False: some are still being detached (removal_run()). */
bool uprobe_links_done(struct uprobe_links *links);

#endif
