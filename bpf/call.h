/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_CALL_H
#define DP_BPF_CALL_H

/*
 * Call instructions, by their bytes in memory:
 *
 *   __u32 call_ends(__u64 bytes)             does one end where these eight bytes end?
 *   __u64 call_target(w, __u64 bytes, pc)    target of the call that ends at pc, as these eight bytes do; 0:
 *                                            unknown. Reads memory at most CALL_TARGET_READS times
 *   __u32 call_lands(__u64 bytes)            does the end of __builtin_eh_return() start within the first
 *                                            CALL_LANDING_STEP bytes?
 */
#include "bpf/arch.h"
#include DP_ARCH_CALL

#endif
