/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_TLS_LAYOUT_H
#define DP_BPF_TLS_LAYOUT_H

/*
 * Where a thread-local variable is (Drepper, "ELF Handling For Thread-Local Storage"; Oliva and
 * Araújo, "Thread-Local Storage Descriptors"). Part of abi.h.
 */

/* How its address is found. A slot is at an address of the file, and filled by the dynamic linker. */
enum dp_tls_kind {
	DP_TLS_NONE,       /* it is not thread-local, or not there */
	DP_TLS_OFFSET,     /* `value` is the distance from the thread's base: of a program */
	DP_TLS_SLOT,       /* the word in the slot `value` is that distance */
	DP_TLS_MODULE,     /* a module's number, and the offset in its block */
	DP_TLS_DESCRIPTOR, /* a function, and what it is given: the distance, or the address of a
			    * module's number, the offset in its block and the blocks' generation */
	DP_N_TLS_KINDS,
};

struct dp_tls {
	__u64 value;
	__u32 kind; /* enum dp_tls_kind */
	__u32 zero;
};

DP_ASSERT(sizeof(struct dp_tls) == 16, "dp_tls is two cells");

#endif
