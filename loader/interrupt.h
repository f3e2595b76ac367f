/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_INTERRUPT_H
#define DP_LOADER_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

/*
 * Ctrl-C and SIGTERM. The first ends sampling, and the result is written; the
 * second has names left out, so that it is written at once; the third ends the
 * program.
 */
struct interrupt {
	int fd; /* readable when the first signal has come */
	sigset_t old_mask;
};

/* From now on the signals come through the descriptor. 0 or a negative errno. */
int interrupt_init(struct interrupt *ret);
/* Sampling is over: further signals act at once, the next one as the second. */
void interrupt_writing(struct interrupt *interrupt);
/* Has a signal arrived? */
bool interrupt_arrived(const struct interrupt *interrupt);

void interrupt_done(struct interrupt *interrupt);

#endif
