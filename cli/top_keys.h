/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TOP_KEYS_H
#define DP_CLI_TOP_KEYS_H

#include <stddef.h>
#include <stdio.h>

/* The keys of `dwarfprof top`: what is typed, the help, and the bottom line come from one table. */

enum top_action {
	TOP_NOTHING,
	TOP_QUIT,
	TOP_HELP,
	TOP_UP,
	TOP_DOWN,
	TOP_PAGE_UP,
	TOP_PAGE_DOWN,
	TOP_FIRST,
	TOP_LAST,
	TOP_EXPAND,
	TOP_FILTER,
	TOP_CLEAR,
	TOP_PAUSE,
	TOP_SORT_NEXT,
	TOP_SORT_BEFORE,
	TOP_LIST_FUNCTIONS,
	TOP_LIST_PROCESSES,
	TOP_LIST_THREADS,
	TOP_REDRAW,
};

/* The action of a character, or of a key of curses with a negative sign. */
enum top_action top_keys_find(int code);

/* Writes "  Up, k          select the row above" for each, in lines of so many columns. 0 or -ENOMEM. */
int top_keys_list(size_t columns, FILE *to);

/* The most important ones, in a line: "q quit  ? help". */
void top_keys_list_briefly(FILE *to);

#endif
