/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_PORT_H
#define DP_BPF_PORT_H

/*
 * The walker's interface to its environment. The same walker is compiled for the kernel and for
 * user space; this is all that differs.
 *
 *   port_read_user(w, dst, size, address)  copy from the walked process: 0 or negative
 *   port_pool(w, cell)                     address of a record in the pool, or NULL
 *   port_segment(w, cell)                  the segment of a cell, or NULL
 *   port_at(segment, at)                   the record at an offset of a segment
 *   port_u8(segment, at)                   the number there; port_u16(), port_u32()
 *   port_u64(p)                            the number at p, which need not be aligned
 *   port_index(i, n)                       i, known to be below n (a power of two)
 *   port_loop(n, fn, ctx)                  call fn(i, ctx) up to n times, until it returns 1; returns
 *                                          the number of calls made
 *   port_trampoline(w)                     return address set by uretprobes; 0: none
 *   port_origin(w, slot)                   the original return address at a stack address; 0: not
 *                                          known
 *   port_thread_base(w)                    base of the walked thread's local storage; 0: not known
 *   port_has_jit(w)                        frames of JIT compilers are left: hotspot.h, sljit.h
 *   port_max_cost(w, normal)               the most that the walk may cost
 *   port_opaque(x)                         hide from the compiler how x was computed
 *   PORT_GLOBAL                            for a function that is to be verified on its own
 *
 * In the kernel, an index that the verifier cannot bound is masked. In user space, an index out of
 * bounds is a bug and traps.
 */
#ifdef __bpf__
#include "bpf/port_kernel.bpf.h"
#else
#include "bpf/port_user.h"
#endif

/*
 * 1 if a > b, else 0, for values below 2^63. A comparison would compile to a branch, and in a
 * search the verifier follows every path through every branch.
 */
static __always_inline __u64 is_above(__u64 a, __u64 b)
{
	return port_opaque(b - a) >> 63;
}

#endif
