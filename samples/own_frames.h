/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_OWN_FRAMES_H
#define DP_SAMPLES_OWN_FRAMES_H

#include <linux/types.h>
#include <stddef.h>

struct kallsyms;

/*
 * The number of frames at the leaf of a kernel stack that take the sample: of the BPF program and of
 * what calls it. How many depends on who else traces the place at that time. kallsyms: NULL: unknown.
 */
size_t own_frames(const struct kallsyms *kallsyms, const __u64 *kernel, size_t n);

#endif
