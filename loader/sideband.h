/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_SIDEBAND_H
#define DP_LOADER_SIDEBAND_H

#include <stddef.h>

#include "process.h"

/*
 * The kernel's own record of what processes do: perf's MMAP2, FORK, COMM and
 * EXIT records of every CPU, passed on to a process table.
 */
struct sideband;

/* Start recording. On failure says why and returns a negative errno. */
int sideband_new(unsigned int n_cpus, struct sideband **ret);
struct sideband *sideband_free(struct sideband *sideband);

/* The descriptors that become readable when there are records: *ret_n of them. */
const int *sideband_fds(const struct sideband *sideband, size_t *ret_n);

/*
 * Pass all records that there are on to the table, in the order of their
 * times, and publish what changed. 0 or a negative errno.
 */
int sideband_drain(struct sideband *sideband, struct process_table *table);

#endif
