/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_SIDEBAND_H
#define DP_PROCESS_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>

#include "process/process.h"

/*
 * The kernel's own record of what processes do: perf's MMAP2, FORK, COMM and
 * EXIT records of every CPU, passed on to a process table; KSYMBOL to kallsyms.
 */
struct sideband;
struct kallsyms;

/* Data pages per CPU: room for two thousand records, and within kernel.perf_event_mlock_kb. */
#define SIDEBAND_PAGES 64

/* Start recording. On failure says why and returns a negative errno. */
int sideband_new(unsigned int n_cpus, struct sideband **ret);
struct sideband *sideband_free(struct sideband *sideband);

/* From now on, add the functions that the kernel gets to these. They must outlive the records. */
void sideband_tell_kallsyms(struct sideband *sideband, struct kallsyms *kallsyms);

/* The descriptors that become readable when there are records: *ret_n of them, -1 among them. */
const int *sideband_fds(const struct sideband *sideband, size_t *ret_n);

/*
 * A CPU, one of n_cpus, came online: the descriptor of its records, which the sideband owns, also
 * if there was one before. What was done there until now is not known, and counts as lost.
 * -ENODEV: it has gone offline again; or another negative errno.
 */
int sideband_add_cpu(struct sideband *sideband, unsigned int cpu);
/* A CPU went offline. What it has recorded is still passed on. */
void sideband_drop_cpu(struct sideband *sideband, unsigned int cpu);

/*
 * Pass all records that there are on to the table, in the order of their
 * times, and publish what changed. 0 or a negative errno.
 */
int sideband_drain(struct sideband *sideband, struct process_table *table);

/* Has it left records for the next time, because they come so fast? */
bool sideband_is_behind(const struct sideband *sideband);

/* Were records lost since this was last asked? What happened to any process is then not known. */
bool sideband_take_loss(struct sideband *sideband);

#endif
