/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_UPROBE_REFUSAL_H
#define DP_KERNEL_UPROBE_REFUSAL_H

#include <stdbool.h>

struct uprobe_places;

/*
 * Tells why a program could not be attached at places: in which function the kernel refuses to, if it is that.
 * is_multi: it is a program for uprobe_attach_multi(). Attaches it for a moment at those before, in this process;
 * 0: in all.
 */
void uprobe_explain_refusal(int program, bool is_multi, const struct uprobe_places *places,
			    unsigned int pid, int err);

#endif
