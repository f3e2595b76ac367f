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
	/* The arguments of cpu_watch_listen() */
	struct session *session;
	struct sideband *sideband;
	int fd;                    /* of uevent.h; -1: the kernel reports nothing */
	bool is_told;              /* of at least one change, so reports arrive */
	char list[CPUS_LIST_SIZE]; /* online CPUs at the start */
	unsigned int n_cpus;       /* per-CPU objects exist for so many */
};

/* Starts listening. Call it before anything is opened per CPU. */
void cpu_watch_init(struct cpu_watch *ret);
/* May be called again, also with fd -1. */
void cpu_watch_done(struct cpu_watch *watch);

/*
 * While the loop runs, starts sampling CPUs that come online, and their records, and
 * stops sampling CPUs that go offline. A CPU that cannot be sampled is reported and is no error. 0
 * or a negative errno.
 */
int cpu_watch_listen(struct cpu_watch *watch, struct session *session, struct sideband *sideband,
		     struct loop *loop);

/* At the end, reports CPUs that came online without a message from the kernel. */
void cpu_watch_warn(const struct cpu_watch *watch, const struct filter *filter);

#endif
