/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_X86_64_CALL_H
#define DP_BPF_X86_64_CALL_H

/* Call instructions of x86-64, by their bytes in memory. */

#include "bpf/port.h"

/*
 * True if the last `size` bytes of code are a call instruction ff /2; its first byte is the lowest.
 */
PORT_GLOBAL __u32 call_is_indirect(__u64 code, __u32 size)
{
	__u32 modrm = code >> 8 & 255, rm = modrm & 7, mod = modrm >> 6;
	__u32 has_sib = (mod != 3) & (rm == 4);
	/* A base of 5 without a displacement means an address of 4 bytes. */
	__u32 base = has_sib ? code >> 16 & 7 : rm;
	__u32 length = 2 + has_sib + (mod == 1) + 4 * (mod == 2) + 4 * ((mod == 0) & (base == 5));

	return ((code & 255) == 0xff || (code & 255) == 0xcc) & ((modrm & 0x38) == 0x10) &
	       (length == size);
}

PORT_GLOBAL __u32 call_ends_indirect(__u64 bytes)
{
	for (__u32 size = 2; size < 8; size++)
		if (call_is_indirect(bytes >> (64 - 8 * size), size))
			return 1;
	return 0;
}

/*
 * True if a call instruction ends where these eight bytes do. Its forms are e8 and ff /2 (Intel's
 * manual, volume 2, CALL); a breakpoint may have replaced the first byte.
 */
static __always_inline __u32 call_ends(__u64 bytes)
{
	__u64 code = bytes >> 24 & 255;

	return code == 0xe8 || code == 0xcc || call_ends_indirect(bytes);
}

#endif
