/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_COPY_BPF_H
#define DP_BPF_COPY_BPF_H

#include "bpf/port.h"

#include <bpf/bpf_helpers.h>

/*
 * memcpy() within our own memory, of a size that only the verifier's bounds limit: clang would need a
 * constant. Returns 0 or negative.
 */
static __always_inline int copy_cells(void *to, __u32 size, const void *from)
{
	return (int)bpf_probe_read_kernel(to, size, from);
}

#endif
