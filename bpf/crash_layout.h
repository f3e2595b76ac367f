/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_CRASH_LAYOUT_H
#define DP_BPF_CRASH_LAYOUT_H

/* The signal that has ended a process. Part of abi.h. */

/*
 * How much of it: si_signo, si_errno, si_code, and the first members of each kind. The kernel's own
 * structure has the layout of user space's: copy_siginfo_to_user(), kernel/signal.c, copies it as
 * it is.
 */
#define DP_SIGINFO_SIZE 32

/*
 * Behind the frames of a DP_EVENT_CRASH. Where a thread has called an address without code, the
 * word on top of the stack is the return address. Whether a call is in front of it can only be seen
 * now: the process is about to end.
 *
 *   +-------------+-------------+---------------------------+
 *   | part                      | 0                         |
 *   | the beginning of siginfo_t, sigaction(2), 32 bytes    |
 *   | stack_top                                             |
 *   | in_front                                              |
 *   +-------------------------------------------------------+
 */
struct dp_crash {
	struct dp_part part; /* DP_RECORD_CRASH */
	__u32 zero;
	__u8 siginfo[DP_SIGINFO_SIZE];
	__u64 stack_top; /* where a call has just put its return address; 0: not readable */
	__u64 in_front;  /* the eight bytes of code in front of that address; 0: not readable */
};

DP_ASSERT(sizeof(struct dp_crash) == 56, "dp_crash is seven words");

#endif
