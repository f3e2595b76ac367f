/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DOCTOR_PROBE_H
#define DP_DOCTOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct refusal;

/*
 * What the kernel can do, found out by doing it: a version says little, as
 * distributions bring new features to old kernels. Each returns 0 if it works,
 * else what the kernel says, a negative errno, and leaves nothing behind.
 */

/*
 * The programs of dwarfprof, each loaded by itself, by the kernel's types in a file, if one is
 * named (kernel_types.h); *ret says why one is refused. The name of number `index`, in
 * `buffer`; NULL behind the last.
 */
#define PROBE_NAME_SIZE 64
const char *probe_program_name(size_t index, char buffer[PROBE_NAME_SIZE]);
int probe_program(size_t index, const char *btf, struct refusal *ret);

/* Any program at all, of the kind that samples: do it first, the rest is in vain without. */
int probe_bpf(void);
/* A helper function (enum bpf_func_id) in such a program; -ENOSYS if there is none. After probe_bpf(). */
int probe_helper(int helper);
int probe_ring_buffer(void);
int probe_mmapable_array(void);
/* An array of maps; its update by the batch. */
int probe_map_of_maps(void);
int probe_map_of_maps_batch(void);
/* A program attached to the clock of a CPU. */
int probe_attach(void);

/* Samples by cycles, or by the CPU clock; perf's records of what processes do, and their ring. */
int probe_sampling(bool hardware);
int probe_sideband(void);

#endif
