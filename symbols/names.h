/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_NAMES_H
#define DP_SYMBOLS_NAMES_H

#include <stdbool.h>

/*
 * Whether names are wanted at all. They can take long: the symbols of a large
 * binary are read when the first of its names is asked for.
 */

/*
 * From now on no name is found, at once, of any binary or of the kernel, and a
 * symbol table that is being read is given up. Async-signal-safe: it is what
 * the second Ctrl-C does.
 */
void names_disable(void);
bool names_disabled(void);

#endif
