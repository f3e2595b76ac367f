/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_KNOBS_H
#define DP_KERNEL_KNOBS_H

struct dwarfprof_bpf;
struct session_options;

/*
 * Sets what a session's programs have as constants, which of them are loaded, and the sizes of their
 * maps; those that are not needed are not made. Before the programs are loaded.
 */
void knobs_set(struct dwarfprof_bpf *bpf, const struct session_options *options);

#endif
