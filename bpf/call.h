/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_CALL_H
#define DP_BPF_CALL_H

/*
 * Call instructions, by their bytes in memory:
 *
 *   __u32 call_ends(__u64 bytes)             does one end where these eight bytes end?
 *   __u64 call_target(w, __u64 bytes, pc)    and where does it lead, if they end at pc?
 *   __u32 call_lands(__u64 bytes)            does one of the first CALL_LANDING_STEP begin the end of a landing?
 */
#include "bpf/arch.h"
#include DP_ARCH_CALL

#endif
