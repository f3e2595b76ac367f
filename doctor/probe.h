/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DOCTOR_PROBE_H
#define DP_DOCTOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct refusal;

/*
 * Finds out what the kernel can do by trying: a version says little, because distributions backport
 * features to old kernels. Each function returns 0 if it works, else the kernel's negative errno,
 * and leaves nothing behind.
 */

/*
 * dwarfprof's programs, each loaded separately, with the kernel's types from a file if one is given
 * (kernel_types.h). *ret says why a program was refused. probe_program_name() returns the name of
 * program number `index` in `buffer`, or NULL behind the last.
 */
#define PROBE_NAME_SIZE 64
const char *probe_program_name(size_t index, char buffer[PROBE_NAME_SIZE]);
int probe_program(size_t index, const char *btf, struct refusal *ret);

/* Loads a minimal program of the sampling type. Do this first: without it, nothing else works. */
int probe_bpf(void);
/*
 * Looks for a helper function (enum bpf_func_id) for such programs; -ENOSYS if there is none.
 * Only after probe_bpf().
 */
int probe_helper(int helper);
int probe_ring_buffer(void);
int probe_mmapable_array(void);
/* Creates an array of maps, and updates it in a batch. */
int probe_map_of_maps(void);
int probe_map_of_maps_batch(void);
/* Attaches a program to a CPU clock event. */
int probe_attach(void);

/*
 * Opens a sampling event by cycles or by the CPU clock; perf's records of process activity, and
 * their ring.
 */
int probe_sampling(bool hardware);
int probe_sideband(void);
/* Opens the list of tracepoints (tracefs.h). */
int probe_tracefs(void);

#endif
