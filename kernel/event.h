/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_EVENT_H
#define DP_KERNEL_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct perf_event_attr;

/*
 * Perf events (perf_event_open(2)). Functions that open one return a descriptor, close-on-exec, or
 * a negative errno; -ENODEV means that the CPU is not online.
 */

/* What is counted (PERF_TYPE_*, PERF_COUNT_*), and when a sample is taken. */
struct event_kind {
	uint32_t type;
	uint64_t config;
	uint64_t period; /* number of events per sample; 0: variable, for */
	unsigned int hz; /* this many samples per second */
};

/* The most that may be sampled at once. */
#define EVENT_MAX 8

/* What CPU time is sampled by: cycles, or the CPU clock. */
struct event_kind event_of_cpu_time(unsigned int hz, bool hardware);

/*
 * Opens an event on one CPU. It is not enabled yet. event_attr() fills in the attributes for it,
 * without their size.
 */
int event_open(unsigned int cpu, const struct event_kind *kind);
void event_attr(const struct event_kind *kind, struct perf_event_attr *ret);

#define EVENT_WHY_SIZE 96

/*
 * Explains why an event of the CPU's counters could not be opened: they lack it, or are in use. False if the error
 * would affect any event: a missing permission, or too few descriptors or memory.
 */
bool event_why_not(const char *name, int err, char ret[EVENT_WHY_SIZE]);

/*
 * Opens an enabled event that reports mapped code, forks, execs and exits of all processes on one
 * CPU, and functions that the kernel adds and removes (ksymbol).
 */
int event_open_sideband(unsigned int cpu);

#endif
