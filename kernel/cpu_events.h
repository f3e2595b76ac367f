/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_CPU_EVENTS_H
#define DP_KERNEL_CPU_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/event.h"

struct bpf_link;
struct bpf_program;
struct filter;

/* The sampling events: one of each kind for each online CPU that the filter accepts. */
struct cpu_events {
	const struct bpf_program *program; /* both owned by the caller */
	const struct filter *filter;
	struct event_kind kinds[EVENT_MAX]; /* a sample has their number (dp_sample.state) */
	size_t n_kinds;
	unsigned int n_cpus;     /* CPUs from this number on are not sampled */
	struct bpf_link **links; /* by CPU, then kind; NULL if it is not sampled */
};

/*
 * Starts an event on each CPU and attaches the program to it. Program and filter must outlive the
 * events. *ret_event is "cycles" or "cpu-clock", whichever the machine has. *ret_why is NULL, or
 * says why the clock is used. On failure, logs the reason, returns a negative errno and leaves no
 * events.
 */
int cpu_events_start_time(struct cpu_events *ret, const struct bpf_program *program,
			  const struct filter *filter, unsigned int n_cpus, unsigned int hz,
			  const char **ret_event, char ret_why[EVENT_WHY_SIZE]);
/* The same for any events, up to EVENT_MAX, and without another in their place. names: for messages. */
int cpu_events_start(struct cpu_events *ret, const struct bpf_program *program,
		     const struct filter *filter, unsigned int n_cpus,
		     const struct event_kind *kinds, const char *const *names, size_t n);
/* The time from one sample of a CPU to the next, which a timer takes; 0: none does, or they are not sampled. */
uint64_t cpu_events_tick_ns(const struct cpu_events *events);
/* Stops and frees the events. May be called twice, and for a zeroed structure. */
void cpu_events_stop(struct cpu_events *events);

/*
 * Handles a CPU that came online by opening new events: the kernel removes a CPU's events when it
 * goes offline and does not restore them (perf_event_exit_cpu()). Returns 0, also if the filter
 * excludes the CPU or it is offline again, or a negative errno.
 */
int cpu_events_add(struct cpu_events *events, unsigned int cpu);

/* Handles a CPU that went offline. */
void cpu_events_drop(struct cpu_events *events, unsigned int cpu);

#endif
