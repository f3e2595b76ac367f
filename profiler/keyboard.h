/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_KEYBOARD_H
#define DP_PROFILER_KEYBOARD_H

#include <stdbool.h>

struct loop;

/* Who sits at stdin. */
struct keyboard {
	struct loop *loop;
	bool has_quit; /* somebody has typed a `q` */
};

/*
 * From now on, while the loop runs, keys are read. When there is no keyboard any more, the loop
 * forgets it. 0 or a negative errno.
 */
int keyboard_listen(struct keyboard *ret, struct loop *loop);

#endif
