/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_REFUSAL_H
#define DP_KERNEL_REFUSAL_H

/*
 * Why the kernel does not take a BPF program: what libbpf says while programs are loaded is
 * listened to, for the end of the verifier's log. The kernel writes one only when a program
 * was refused, and libbpf tries again to get it. There is one listener, as libbpf has one.
 */

/* Forget what was said, and listen. With -v, all of it is logged. */
void refusal_listen(void);

/* The program that the verifier refused, and the end of its log, in one line; NULL: it did not. */
const char *refusal_program(void);
const char *refusal_reason(void);

/*
 * No permission is missing, and the programs cannot be loaded: say why, as far as can be found
 * out, and what to do. path: --btf, or NULL.
 */
void refusal_explain(const char *path);

#endif
