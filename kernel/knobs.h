/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_KNOBS_H
#define DP_KERNEL_KNOBS_H

struct dwarfprof_bpf;
struct session_options;

/*
 * Selects a session's programs, and sets their constants and the sizes of their maps; maps that are not needed are
 * not created. To be called before the programs are loaded.
 */
void knobs_set(struct dwarfprof_bpf *bpf, const struct session_options *options);

#endif
