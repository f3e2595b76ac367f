/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_SIDEBAND_H
#define DP_PROCESS_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>

#include "process/process_table.h"

/*
 * The kernel's record of what processes do: passes perf's MMAP2, FORK, COMM and EXIT records of
 * every CPU to a process table, and KSYMBOL records to kallsyms.
 */
struct sideband;
struct kallsyms;

/* Data pages per CPU: room for two thousand records, and within kernel.perf_event_mlock_kb. */
#define SIDEBAND_PAGES 64

/* Starts recording. On failure, logs the reason and returns a negative errno. */
int sideband_new(unsigned int n_cpus, struct sideband **ret);
struct sideband *sideband_free(struct sideband *sideband);

/* From now on, adds functions that the kernel gets to kallsyms, which must outlive the records. */
void sideband_tell_kallsyms(struct sideband *sideband, struct kallsyms *kallsyms);

/*
 * Returns a descriptor, which the sideband owns, that becomes readable when records are added to a
 * ring. poll(2) tells it once: read the rings after it.
 */
int sideband_fd(const struct sideband *sideband);

/*
 * A CPU (of n_cpus) came online. What happened there so far is not known and counts as lost. 0, or
 * -ENODEV: the CPU is offline again; or another negative errno.
 */
int sideband_add_cpu(struct sideband *sideband, unsigned int cpu);
/* A CPU went offline. Its records so far are still passed on. */
void sideband_drop_cpu(struct sideband *sideband, unsigned int cpu);

/* When the records that there are have to be handled. */
enum sideband_haste {
	SIDEBAND_NEVER, /* there are none */
	SIDEBAND_LATER, /* together with others: they are about threads, or about ended processes */
	/* Before the next sample is taken; if nobody knows when that is, soon. */
	SIDEBAND_BY_SAMPLE,
	/*
	 * After a moment, together with what follows: a starting program causes ten within a millisecond.
	 * Some are about code in no file.
	 */
	SIDEBAND_SOON,
	/*
	 * They are about unknown files, or about processes to be filtered; or there are many; or some are
	 * lost
	 */
	SIDEBAND_NOW,
};

/* What a look at the rings has found. */
struct sideband_look {
	enum sideband_haste haste; /* of the records that are not handled yet */
	uint64_t n_read;           /* the number of all records so far */
};

/* Reads the rings, without a system call, and handles nothing. */
struct sideband_look sideband_look(struct sideband *sideband, const struct process_table *table);

/* Lets the descriptor become readable only when records are added from now on. */
void sideband_forget_wakeups(struct sideband *sideband);

/* The number of records read so far. */
uint64_t sideband_n_read(const struct sideband *sideband);

/*
 * Passes all available records to the table in order of time, and publishes the changes. 0 or a
 * negative errno.
 */
int sideband_drain(struct sideband *sideband, struct process_table *table);

/* True if records were left for the next time because they arrive so fast. */
bool sideband_is_behind(const struct sideband *sideband);

/* True if records were lost since the last call: any process may then have changed. */
bool sideband_take_loss(struct sideband *sideband);

#endif
