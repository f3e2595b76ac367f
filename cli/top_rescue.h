/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TOP_RESCUE_H
#define DP_CLI_TOP_RESCUE_H

#include <stdbool.h>

/* Gives the terminal back in a signal handler, before the program ends: curses cannot be asked there. */

/* Keeps the settings of stdin's terminal: before curses changes them. 0 or a negative errno. */
int top_rescue_keep_settings(void);
/* Once curses knows the terminal. */
void top_rescue_prepare(void);
/* Is the screen curses', or the shell's? */
void top_rescue_set_drawn(bool is_drawn);

/* Calls only async-signal-safe functions. */
void top_rescue(void);

#endif
