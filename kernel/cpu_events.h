/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_CPU_EVENTS_H
#define DP_KERNEL_CPU_EVENTS_H

#include <stdbool.h>

struct bpf_link;
struct bpf_program;
struct filter;

/* The events that sample CPUs: one for each that is online and that the filter has. */
struct cpu_events {
	const struct bpf_program *program; /* not owned, as is */
	const struct filter *filter;
	unsigned int hz;
	bool hardware;
	unsigned int n_cpus;     /* CPUs from this number on are not sampled */
	struct bpf_link **links; /* by CPU; NULL: it is not sampled */
};

/*
 * Have the program, which must outlive the events, as must the filter, called at each of them from
 * now on. *ret_event is "cycles" or "cpu-clock",
 * whichever the machine has; *ret_why NULL, or why it is the clock. On failure says why,
 * returns a negative errno, and there are none.
 */
int cpu_events_start(struct cpu_events *ret, const struct bpf_program *program,
		     const struct filter *filter, unsigned int n_cpus, unsigned int hz,
		     const char **ret_event, const char **ret_why);
/* Stop, and give up what they have; may be called again, and of what is all zero. */
void cpu_events_stop(struct cpu_events *events);

/*
 * A CPU came online. The kernel takes the events of one that goes away, and does not bring them
 * back with it (perf_event_exit_cpu()): it gets another one. 0, also where none is wanted, or
 * the CPU is gone again; or a negative errno.
 */
int cpu_events_add(struct cpu_events *events, unsigned int cpu);

/* A CPU went offline. */
void cpu_events_drop(struct cpu_events *events, unsigned int cpu);

#endif
