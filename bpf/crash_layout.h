/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_CRASH_LAYOUT_H
#define DP_BPF_CRASH_LAYOUT_H

/* The signal that has ended a process. Part of abi.h. */

/*
 * How much of it: si_signo, si_errno, si_code, and the first members of each kind. The kernel's own
 * structure has the layout of user space's: copy_siginfo_to_user(), kernel/signal.c, copies it as it is.
 */
#define DP_SIGINFO_SIZE 32

/*
 * Behind the frames of a DP_EVENT_CRASH.
 *
 *   +-------------+-------------+---------------------------+
 *   | part                      | 0                         |
 *   | the beginning of siginfo_t, sigaction(2), 32 bytes    |
 *   +-------------------------------------------------------+
 */
struct dp_crash {
	struct dp_part part; /* DP_RECORD_CRASH */
	__u32 zero;
	__u8 siginfo[DP_SIGINFO_SIZE];
};

DP_ASSERT(sizeof(struct dp_crash) == 40, "dp_crash is five words");

#endif
