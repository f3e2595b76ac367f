/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_SIGNALS_H
#define DP_BASE_SIGNALS_H

#include <pthread.h>
#include <signal.h>

/*
 * Block signals, for threads that are started now: those of the process are the business of the
 * thread that samples. SIGBUS is one's own: a file that is cut off while it is read raises it, and
 * where it is blocked, it ends the process (elf/bus_guard.h). *ret is what was blocked before, for
 * pthread_sigmask().
 */
static inline void signals_block(sigset_t *ret)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, ret);
}

#endif
