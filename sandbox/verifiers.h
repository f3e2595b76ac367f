/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_VERIFIERS_H
#define DP_SANDBOX_VERIFIERS_H

#include <time.h>

#include "sandbox/parsers.h"
#include "sandbox/second_walk.h"

/*
 * The verifiers (verifier.h) of one thread. Each gets stacks and files of one user's processes only. A
 * verifier that crashes, answers wrongly, exhausts its memory or takes too long is replaced, and the user is
 * charged for its time. A process that has caused this twice, other than by memory, has no stacks unwound for
 * a minute. Without parsers, or if no helper can be started at all, this process unwinds.
 */
struct verifiers;

/* `parsers`, which may be NULL, start them, and are held. 0 or -ENOMEM. */
int verifiers_new(struct parsers *parsers, struct verifiers **ret);
/* NULL is allowed. Returns NULL. */
struct verifiers *verifiers_free(struct verifiers *verifiers);

/*
 * As second_walk_run(). fds are those of the mappings' files, which the caller keeps, or -1. Other errors: -ETIME,
 * -ECONNABORTED or -EPROTO by what the process or its files did, -EBUSY: those of its user have taken too long,
 * for a while; -EAGAIN: no helper can be started now.
 */
int verifiers_walk(struct verifiers *all, const struct second_stack *stack, const int *fds,
		   size_t max_frames, struct second_frame *frames, struct second_result *ret);

/*
 * As second_walk_has_rule(), of the last walk, if that was successful: 1 or 0, or an error of verifiers_walk().
 */
int verifiers_have_rule(struct verifiers *all, uint64_t pc);

/* The CPU-time clock of the one that the thread waits for; 0: it does not. Callable from any thread. */
clockid_t verifiers_clock(const struct verifiers *verifiers);

/* Replaces VERIFIERS_CPU_NS, of which parts say who is slow. For tests. */
void verifiers_set_cpu_limit(struct verifiers *verifiers, uint64_t cpu_ns);

#endif
