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

/*
 * Target of a PLT-like `jmp *n(%rip)` at this address; the address itself if it is no such jump; 0: unreadable.
 */
static __always_inline __u64 call_through_jump(struct walk *w, __u64 at)
{
	__u64 bytes, target = 0, next = at;

	if (port_read_user(w, &bytes, sizeof(bytes), next) < 0)
		return 0;
	if ((__u32)bytes == 0xfa1e0ff3) { /* endbr64 */
		next += 4;
		if (port_read_user(w, &bytes, sizeof(bytes), next) < 0)
			return 0;
	}
	if ((bytes & 255) == 0xf2) { /* bnd */
		next++;
		bytes >>= 8;
	}
	if ((bytes & 0xffff) != 0x25ff)
		return at;
	next += 6 + (__u64)(__s64)(__s32)(bytes >> 16);
	return port_read_user(w, &target, sizeof(target), next) < 0 ? 0 : target;
}

#define CALL_TARGET_READS 3
static __always_inline __u64 call_target(struct walk *w, __u64 bytes, __u64 pc)
{
	__u64 target = pc + (__u64)(__s64)(__s32)(bytes >> 32);

	if ((bytes >> 24 & 255) == 0xe8)
		return call_through_jump(w, target);
	/* call *relative(%rip) */
	if ((bytes >> 16 & 0xffff) != 0x15ff ||
	    port_read_user(w, &target, sizeof(target), target) < 0)
		return 0;
	return target;
}

/* `mov %rcx,%rsp`, by which __builtin_eh_return() sets the stack pointer (EH_RETURN_STACKADJ_RTX, gcc's i386.h). */
#define CALL_LANDING 0xcc8948
#define CALL_LANDING_STEP 6
static __always_inline __u32 call_lands(__u64 bytes)
{
	for (__u32 i = 0; i < CALL_LANDING_STEP; i++)
		if ((bytes >> 8 * i & 0xffffff) == CALL_LANDING)
			return 1;
	return 0;
}

#endif
