/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_REFUSAL_H
#define DP_KERNEL_REFUSAL_H

/*
 * Why the kernel refused a BPF program. While programs are loaded, libbpf's messages are scanned
 * for the end of the verifier's log. The kernel writes that log only for a refused program: libbpf
 * loads the program again to get it.
 */
struct refusal {
	char program[64]; /* "" if none was refused */
	char reason[400];
};

/*
 * Clears *refusal and records libbpf's messages of this thread in it until the next call; NULL
 * stops that. libbpf has one message callback per process, without a user argument. The first call
 * installs ours for good; it also logs libbpf's messages of all threads, with -v.
 */
void refusal_listen(struct refusal *refusal);

/*
 * The program that the verifier refused, and the end of the log as one line; NULL if none was
 * refused.
 */
const char *refusal_program(const struct refusal *refusal);
const char *refusal_reason(const struct refusal *refusal);

/*
 * Explains, as far as possible, why the programs cannot be loaded although no permission is
 * missing, and what to do. path: the argument of --btf, or NULL.
 */
void refusal_explain(const struct refusal *refusal, const char *path);

#endif
