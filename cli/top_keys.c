// SPDX-License-Identifier: Apache-2.0
#include "cli/top_keys.h"

#include <curses.h>
#include <errno.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "text/terminal.h"

#define CTRL(letter) ((letter)&0x1f)
#define MAX_CODES 3

static const struct {
	enum top_action action;
	int codes[MAX_CODES]; /* 0: no further ones */
	const char *names, *does;
	const char *brief; /* in the bottom line; NULL: not there */
} keys[] = {
	{ TOP_QUIT, { 'q' }, "q", "quit, as Ctrl-C does", "q quit" },
	{ TOP_HELP, { '?', 'h', -KEY_F(1) }, "?, h, F1", "show the keys", "? help" },
	{ TOP_UP, { -KEY_UP, 'k' }, "Up, k", "select the row above", NULL },
	{ TOP_DOWN, { -KEY_DOWN, 'j' }, "Down, j", "select the row below", NULL },
	{ TOP_PAGE_UP, { -KEY_PPAGE, CTRL('B') }, "PgUp, Ctrl-B", "go up a page", NULL },
	{ TOP_PAGE_DOWN, { -KEY_NPAGE, CTRL('F') }, "PgDn, Ctrl-F", "go down a page", NULL },
	{ TOP_FIRST, { -KEY_HOME, 'g' }, "Home, g", "go to the first row, and stay there", NULL },
	{ TOP_LAST, { -KEY_END, 'G' }, "End, G", "go to the last row", NULL },
	{ TOP_EXPAND,
	  { '\r', '\n' },
	  "Enter",
	  "show or hide callers and callees of a function, or functions of a process or thread; on one "
	  "of these, go to it",
	  "Enter callers" },
	{ TOP_FILTER,
	  { '/' },
	  "/",
	  "show only rows with a text in a name, or with a process or thread number; Ctrl-U empties "
	  "it, Enter ends typing, Esc clears it",
	  "/ filter" },
	{ TOP_CLEAR,
	  { CTRL('[') },
	  "Esc",
	  "clear the filter, or else hide all that Enter showed",
	  NULL },
	{ TOP_PAUSE,
	  { ' ' },
	  "Space",
	  "freeze the screen, while sampling goes on; resume",
	  "Space pause" },
	{ TOP_SORT_NEXT, { 's', '>' }, "s, >", "sort by the next column", "s sort" },
	{ TOP_SORT_BEFORE, { '<' }, "<", "sort by the column before", NULL },
	{ TOP_LIST_FUNCTIONS, { 'F' }, "F", "list functions", "F P T lists" },
	{ TOP_LIST_PROCESSES, { 'P' }, "P", "list processes", NULL },
	{ TOP_LIST_THREADS, { 'T' }, "T", "list threads", NULL },
	{ TOP_REDRAW, { CTRL('L') }, "Ctrl-L", "redraw the screen", NULL },
};

enum top_action top_keys_find(int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		for (size_t j = 0; j < MAX_CODES && keys[i].codes[j]; j++)
			if (keys[i].codes[j] == code)
				return keys[i].action;
	return TOP_NOTHING;
}

int top_keys_list(size_t columns, FILE *to)
{
	_cleanup_free_ char *list = NULL;
	size_t size;
	FILE *lines = open_memstream(&list, &size);

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		fprintf(lines, "  %-13s  %s\n", keys[i].names, keys[i].does);
	if (fclose(lines) != 0)
		return -ENOMEM;
	terminal_write(list, columns, to);
	return 0;
}

void top_keys_list_briefly(FILE *to)
{
	const char *gap = "";

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!keys[i].brief)
			continue;
		fprintf(to, "%s%s", gap, keys[i].brief);
		gap = "  ";
	}
}
