/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_KEYBOARD_H
#define DP_PROFILER_KEYBOARD_H

#include <stdbool.h>

struct loop;

/* Keys typed on stdin. */
struct keyboard {
	struct loop *loop;
	bool has_quit; /* `q` was typed */
};

/*
 * Reads keys from now on, while the loop runs. At the end of input, removes itself from the loop. 0
 * or a negative errno.
 */
int keyboard_listen(struct keyboard *ret, struct loop *loop);

#endif
