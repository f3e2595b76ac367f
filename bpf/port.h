/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_PORT_H
#define DP_BPF_PORT_H

/*
 * What the walker needs from the world around it. The same walker is compiled
 * for the kernel and for user space; everything that differs is here.
 *
 *   port_read_user(w, dst, size, address)  copy from the walked process: 0 or negative
 *   port_pool(w, cell)                     address of a record in the pool, or NULL
 *   port_segment(w, cell)                  the segment that a cell lies in, or NULL
 *   port_at(segment, at)                   the record at a byte of a segment
 *   port_u8(segment, at), port_u16(...)    the number there
 *   port_index(i, n)                       i, known to be below n (a power of two)
 *   port_loop(n, fn, ctx)                  call fn(i, ctx) up to n times, until it returns 1
 *   port_opaque(x)                         hide from the compiler what x is made of
 *   PORT_GLOBAL                            before a function that is best verified on its own
 *   port_forget(x)                         hide it from the verifier, too
 *
 * In the kernel an index that the verifier cannot bound is masked; in user
 * space one out of bounds is a bug and traps.
 */
#ifdef __bpf__
#include "port_kernel.bpf.h"
#else
#include "port_user.h"
#endif

#endif
