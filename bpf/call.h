/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_CALL_H
#define DP_BPF_CALL_H

/*
 * Call instructions, by their bytes in memory:
 *
 *   __u32 call_ends(__u64 bytes)    does one end where these eight bytes end?
 */
#include "bpf/arch.h"
#include DP_ARCH_CALL

#endif
