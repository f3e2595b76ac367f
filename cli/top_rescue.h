/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TOP_RESCUE_H
#define DP_CLI_TOP_RESCUE_H

#include <stdbool.h>

#include "cli/stderr_buffer.h"

/*
 * Restores the terminal in a signal handler, before the signal ends the program; curses cannot be called there. Leaves
 * the terminal alone while another program has it, such as the shell after Ctrl-Z.
 */

/*
 * Keeps the settings of stdin's terminal: before curses changes them, for the first time or after the
 * shell had it back. 0 or a negative errno.
 */
int top_rescue_keep_settings(void);
/* Is stdin's terminal another program's? */
bool top_rescue_is_of_others(void);
/* Once curses knows the terminal. */
void top_rescue_prepare(void);
/* Is the terminal curses', or the shell's? */
void top_rescue_set_drawn(bool is_drawn);

/*
 * Catches signals of crashes, and SIGHUP, unless it is ignored: the handler also writes what was
 * kept, if there is something that keeps. A SIGBUS that elf/bus_guard.h repairs ends nothing; call
 * it once that is installed.
 */
void top_rescue_begin(const struct stderr_buffer *kept);
/* Restores the earlier signal actions. Any thread may call it, repeatedly. */
void top_rescue_end(void);

/*
 * Gives the calling thread another stack for the handler, as its own may overflow, if there is memory
 * for it; until the thread ends, or uncovers itself. Both may be called again and again.
 */
void top_rescue_cover_thread(void);
void top_rescue_uncover_thread(void);

#endif
