/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TOP_SCREEN_H
#define DP_CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "text/top_view.h"

/*
 * The terminal of `dwarfprof top`, drawn by curses, whose state is the process's: there is one, and
 * one thread uses it at a time. stdin and stdout must be terminals.
 */
struct top_screen {
	FILE *to;     /* stdout's terminal; closed with the screen */
	size_t first; /* the row of the view at the top of the list */
	size_t first_of_help;
};

/* 0, or a negative errno: -ENOTTY if curses does not know the terminal. */
int top_screen_open(struct top_screen *ret);
/* Leaves the terminal as it was. */
void top_screen_close(struct top_screen *screen);

/* The same for a time. What is drawn next takes the terminal back. */
void top_screen_leave(void);
/* What is drawn next has the terminal's present size, and expects nothing on the screen. */
void top_screen_renew(void);

/*
 * A character (Enter and Backspace are some), or another key of curses with a negative sign; 0:
 * nothing was typed.
 */
int top_screen_read(void);

/* These draw; 0 or a negative errno. */

/* The view. is_paused: it is not of the present; edits_filter: keys change the filter. */
int top_screen_draw(struct top_screen *screen, const struct top_view *view, bool is_paused,
		    bool edits_filter);
/* The list of keys, or as much of it as there is room for. */
int top_screen_draw_help(struct top_screen *screen);

/* Moves it by so many lines, up to its first or last one. */
void top_screen_scroll_help(struct top_screen *screen, long lines);

/* The number of rows of a page, and of lines of one of the help. */
size_t top_screen_page(const struct top_view *view);
size_t top_screen_help_page(void);

#endif
