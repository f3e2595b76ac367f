/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_REFUSAL_H
#define DP_KERNEL_REFUSAL_H

/*
 * Why the kernel does not take a BPF program: what libbpf says while programs are loaded is
 * listened to, for the end of the verifier's log. The kernel writes one only when a program
 * was refused, and libbpf tries again to get it.
 */
struct refusal {
	char program[64]; /* "": none was refused */
	char reason[400];
};

/*
 * Forget what *refusal knows, and listen to what libbpf says in this thread, until this is called
 * again; NULL: not any more. libbpf has one function for all that it says, without an
 * argument of ours: from the first call on it is the one here, for all of the process, which
 * logs what it says, with -v, in whatever thread.
 */
void refusal_listen(struct refusal *refusal);

/* The program that the verifier refused, and the end of its log, in one line; NULL: it did not. */
const char *refusal_program(const struct refusal *refusal);
const char *refusal_reason(const struct refusal *refusal);

/*
 * No permission is missing, and the programs cannot be loaded: say why, as far as can be found
 * out, and what to do. path: --btf, or NULL.
 */
void refusal_explain(const struct refusal *refusal, const char *path);

#endif
