/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_INTERRUPT_H
#define DP_CLI_INTERRUPT_H

#include <signal.h>

#include "profiler/record.h"

struct names;

/*
 * Handles Ctrl-C and SIGTERM. The first signal ends sampling, and the result is written. The second
 * disables names, so that writing ends at once. The third kills the program. Signals are counted
 * when they arrive, however busy the program is. Signals in quick succession count as one:
 * timeout(1) sends its signal to the program and again to its process group. Signal handlers are
 * global, so there is only one struct interrupt at a time.
 */
struct interrupt {
	struct record_end end; /* passed to the run; its fd is owned here */
	sigset_t old_mask;
};

/*
 * Blocks the signals, so that a child can be forked without the handler. The second signal disables
 * `names`. 0 or -errno.
 */
int interrupt_init(struct interrupt *ret, struct names *names);
/* Starts counting signals. The run calls it through end.tell(). */
void interrupt_listen(void);
/*
 * Called when sampling has ended: the next signal counts as the second, if there was none. Also
 * called through end.tell().
 */
void interrupt_writing(void);

/*
 * Call it before the names are freed. Signals still count: the third one kills the program during
 * cleanup. May be called after interrupt_init() has failed.
 */
void interrupt_done(struct interrupt *interrupt);

#endif
