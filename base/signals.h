/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_SIGNALS_H
#define DP_BASE_SIGNALS_H

#include <pthread.h>
#include <signal.h>

/*
 * Blocks signals, for threads that are started next: the thread that samples handles the process's
 * signals. SIGBUS stays unblocked. It is raised in the thread that reads a truncated file, and if
 * it were blocked it would kill the process (elf/bus_guard.h). *ret is the old mask, for
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
