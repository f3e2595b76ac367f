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

/*
 * Opens a sampling event on one CPU, by cycles or by the CPU clock. It is not enabled yet.
 * event_sampling_attr() fills in the attributes for it, without their size.
 */
int event_open_sampling(unsigned int cpu, unsigned int hz, bool hardware);
void event_sampling_attr(unsigned int hz, bool hardware, struct perf_event_attr *ret);

/*
 * Opens an event on one CPU that takes a sample each time the kernel counts an event of its own, by
 * PERF_COUNT_SW_*. It is not enabled yet.
 */
int event_open_each(unsigned int cpu, uint64_t counter);

/*
 * Explains why the CPU clock is used when opening the cycles event failed with this error. Returns
 * NULL if the clock would fail too: missing permission, descriptors or memory.
 */
const char *event_why_no_cycles(int err);

/*
 * Opens an enabled event that reports mapped code, forks, execs and exits of all processes on one
 * CPU, and functions that the kernel adds and removes (ksymbol).
 */
int event_open_sideband(unsigned int cpu);

#endif
