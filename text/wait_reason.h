/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_WAIT_REASON_H
#define DP_TEXT_WAIT_REASON_H

#include "bpf/abi.h"
#include "report/symbolized.h"

/* Size of a buffer that is enough for every reason. */
#define WAIT_REASON_SIZE 64

/*
 * What the stack of a thread that left its CPU in that state waits for: "page fault", "preempted",
 * the name of the system call, else the kernel function that called the scheduler; without kernel
 * frames, what the state tells. Returns `buffer` or a constant.
 */
const char *wait_reason(enum dp_state state, const struct symbolized_stack *stack,
			char buffer[WAIT_REASON_SIZE]);

#endif
