/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_CPU_WATCH_H
#define DP_PROCESS_CPU_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/cpus.h"

struct filter;
struct loop;
struct session;
struct sideband;

/* Follows CPUs that come online and go offline during a run. */
struct cpu_watch {
	/* What cpu_watch_listen() was given */
	struct session *session;
	struct sideband *sideband;
	struct loop *loop;
	int fd;                    /* of uevent.h; -1: the kernel tells nothing */
	bool is_told;              /* of some change, so that of the others, too */
	char list[CPUS_LIST_SIZE]; /* that were online at the start */
	unsigned int n_cpus;       /* what is made for each CPU has room for so many */
};

/* From now on, changes are told: to be called before anything is opened for each CPU. */
void cpu_watch_init(struct cpu_watch *ret);
/* May be called again, and where fd is -1. */
void cpu_watch_done(struct cpu_watch *watch);

/*
 * From now on, while the loop runs, sample the CPUs that come online, and have it wake by their
 * records; stop sampling those that go offline. A CPU that cannot be sampled is reported; that is
 * no error. 0 or a negative errno.
 */
int cpu_watch_listen(struct cpu_watch *watch, struct session *session, struct sideband *sideband,
		     struct loop *loop);

/* At the end: report a CPU that came online without a word from the kernel. */
void cpu_watch_warn(const struct cpu_watch *watch, const struct filter *filter);

#endif
