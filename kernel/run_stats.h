/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_RUN_STATS_H
#define DP_KERNEL_RUN_STATS_H

#include <stdbool.h>
#include <stdint.h>

struct session;

/* Run counts and times of a session's programs, if the kernel counts them (kernel.bpf_stats_enabled). */
struct run_stats {
	uint64_t runs, time_ns; /* of all of them */
	bool is_counting;       /* the sysctl says so now */
};

struct run_stats run_stats_of(const struct session *session);

#endif
