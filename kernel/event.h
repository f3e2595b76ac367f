/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_EVENT_H
#define DP_KERNEL_EVENT_H

#include <stdbool.h>

struct perf_event_attr;

/*
 * Perf events (perf_event_open(2)). All functions return a descriptor, closed
 * on exec, or a negative errno; -ENODEV means that the CPU is not online.
 */

/*
 * Samples of one CPU, by cycles or by the CPU clock; not enabled yet. And by what that asks
 * the kernel for them; its size is not set.
 */
int event_open_sampling(unsigned int cpu, unsigned int hz, bool hardware);
void event_sampling_attr(unsigned int hz, bool hardware, struct perf_event_attr *ret);

/*
 * Cycles could not be opened, with this error: why the CPU clock has to do, if it may; else
 * NULL, as it would fail, too: for want of a permission, of descriptors, of memory.
 */
const char *event_why_no_cycles(int err);

/*
 * Records of mapped code, forks, execs and exits of all processes on one CPU, and
 * of functions that come and go in the kernel; enabled.
 */
int event_open_sideband(unsigned int cpu);

#endif
