/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_INTERRUPT_H
#define DP_CLI_INTERRUPT_H

#include <signal.h>

#include "profiler/record.h"

struct names;

/*
 * Ctrl-C and SIGTERM. The first ends sampling, and the result is written; the
 * second has names left out, so that it is written at once; the third ends the
 * program. They are counted as they come, however long the program is busy.
 * Those that come together are one: timeout(1) sends its signal to the program
 * and once more to its process group. Handlers are the process's: there is one struct interrupt
 * at a time.
 */
struct interrupt {
	struct record_end end; /* for the run: its fd is owned */
	sigset_t old_mask;
};

/*
 * Hold the signals back, so that a child can be forked that has no handler. `names` are those
 * that the second leaves out. 0 or -errno.
 */
int interrupt_init(struct interrupt *ret, struct names *names);
/* From now on they are counted. The run asks for it, by end.tell(). */
void interrupt_listen(void);
/* Sampling is over: the next signal counts as the second, if none has come. As above. */
void interrupt_writing(void);

/*
 * Before the names are freed. They are still counted: what is left to do is ended by the third.
 * May be called after interrupt_init() has failed.
 */
void interrupt_done(struct interrupt *interrupt);

#endif
