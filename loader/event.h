/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_EVENT_H
#define DP_LOADER_EVENT_H

#include <stdbool.h>

/*
 * Perf events (perf_event_open(2)). All functions return a descriptor, closed
 * on exec, or a negative errno; -ENODEV means that the CPU is not online.
 */

/* Samples of one CPU, by cycles or by the CPU clock; not enabled yet. */
int event_open_sampling(unsigned int cpu, unsigned int hz, bool hardware);

/*
 * Records of mapped code, forks, execs and exits of all processes on one CPU, and
 * of functions that come and go in the kernel; enabled.
 */
int event_open_sideband(unsigned int cpu);

#endif
