/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_INTERRUPT_H
#define DP_PROFILER_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

struct names;

/*
 * Ctrl-C and SIGTERM. The first ends sampling, and the result is written; the
 * second has names left out, so that it is written at once; the third ends the
 * program. They are counted as they come, however long the program is busy.
 * Those that come together are one: timeout(1) sends its signal to the program
 * and once more to its process group. There is one struct interrupt at a time.
 */
struct interrupt {
	int fd; /* readable when the first signal has come */
	sigset_t old_mask;
};

/* Hold the signals back, so that a child can be forked that has no handler. 0 or -errno. */
int interrupt_init(struct interrupt *ret, struct names *names);
/* From now on they are counted. */
void interrupt_listen(struct interrupt *interrupt);
/* Sampling is over: the next signal counts as the second, if none has come. */
void interrupt_writing(struct interrupt *interrupt);
/* Has a signal arrived? */
bool interrupt_arrived(const struct interrupt *interrupt);

/* They are still counted: what is left to do is ended by the third. */
void interrupt_done(struct interrupt *interrupt);

#endif
