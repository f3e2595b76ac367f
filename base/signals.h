/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_SIGNALS_H
#define DP_BASE_SIGNALS_H

#include <pthread.h>
#include <signal.h>

/*
 * Blocks signals, for threads that are started next: the thread that samples handles the process's
 * signals. Those of faults stay unblocked. They are raised in the thread that has the fault, such as
 * SIGBUS where a truncated file is read (elf/bus_guard.h); while they are blocked, they kill the
 * process, whatever its handler. *ret is the old mask, for pthread_sigmask().
 */
static inline void signals_block(sigset_t *ret)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGSEGV);
	pthread_sigmask(SIG_SETMASK, &all, ret);
}

#endif
