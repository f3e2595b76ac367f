/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_UPROBE_REFUSAL_H
#define DP_KERNEL_UPROBE_REFUSAL_H

#include <stdbool.h>

struct uprobe_places;

/*
 * Logs why attaching a program at `places` failed with `err`. If the kernel cannot probe an instruction, attaches
 * at each place in turn, for a moment, to find the function. is_multi: the program is one for
 * uprobe_attach_multi(). pid: the process to attach in; 0: all.
 */
void uprobe_explain_refusal(int program, bool is_multi, const struct uprobe_places *places,
			    unsigned int pid, int err);

#endif
