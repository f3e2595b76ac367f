// SPDX-License-Identifier: Apache-2.0
#include "cli/top_screen.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/terminfo.h"
#include "cli/top_keys.h"
#include "cli/top_rescue.h"
#include "text/terminal.h"

#define NAME_SIZE 1024
#define MAX_BINARY 20
/* Of a label, where there is room. */
#define LABEL_WIDTH 20
#define LABEL_COLUMNS 80
/* How long, in milliseconds, the rest of a key's sequence may take after its Esc. */
#define REST_OF_KEY_MS 25
#define ESC 0x1b

int top_screen_open(struct top_screen *ret)
{
	int fd;

	*ret = (struct top_screen){ 0 };
	/* curses keeps memory of a terminal that it does not know. */
	if (!terminfo_has_places(STDOUT_FILENO))
		return -ENOTTY;
	fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	*ret = (struct top_screen){ .to = fd < 0 ? NULL : fdopen(fd, "w") };
	if (!ret->to) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	/* For names: without it, curses writes ASCII only. */
	setlocale(LC_CTYPE, "");
	if (top_rescue_keep_settings() < 0 || !newterm(NULL, ret->to, stdin)) {
		fclose(ret->to);
		ret->to = NULL;
		return -ENOTTY;
	}
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(REST_OF_KEY_MS);
	curs_set(0);
	top_rescue_prepare();
	return 0;
}

/* A second time, the terminal would put the cursor where it was long ago. */
void top_screen_leave(void)
{
	if (!isendwin())
		endwin();
	top_rescue_set_drawn(false);
}

/*
 * The shell's settings after a stop: they may have changed, and are to stay so. In the background they
 * are those with which the shell itself reads, so it stops again, as it would when it draws.
 */
static void keep_settings(void)
{
	if (top_rescue_is_of_others())
		raise(SIGTTOU);
	if (!top_rescue_is_of_others() && top_rescue_keep_settings() == 0)
		def_shell_mode();
}

static int show(void)
{
	if (isendwin())
		keep_settings();
	top_rescue_set_drawn(true);
	return refresh() == ERR ? -EIO : 0;
}

void top_screen_renew(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
		resize_term(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
}

void top_screen_close(struct top_screen *screen)
{
	if (!screen->to)
		return;
	top_screen_leave();
	fclose(screen->to);
	screen->to = NULL;
}

static int read_key(void)
{
	wint_t c;

	switch (get_wch(&c)) {
	case OK:
		return (int)c;
	case KEY_CODE_YES:
		return c == KEY_BACKSPACE ? '\b' : c == KEY_ENTER ? '\r' : -(int)c;
	}
	return 0;
}

/*
 * Reads the rest of a key that terminfo does not have, such as Ctrl-Up, behind its Esc: `[`,
 * parameters, and a character from `@' on (ECMA-48), or `O` and a character. Before any other key, it
 * is Alt. False: it was Esc, however often.
 */
static bool skip_unknown_key(void)
{
	int code;

	do
		code = read_key();
	while (code == ESC);
	if (code != '[' && code != 'O')
		return code != 0;
	timeout(REST_OF_KEY_MS);
	do
		code = read_key();
	while (code >= ' ' && code < '@');
	nodelay(stdscr, TRUE);
	return true;
}

int top_screen_read(void)
{
	int code;

	do
		code = read_key();
	while (code == ESC && skip_unknown_key());
	return code;
}

/*
 * A text's first character, as it is written, and its columns. Returns its size. What takes no column
 * of its own is not written: it may turn the order of the others around.
 */
static size_t next_character(const char *text, wchar_t *ret, int *ret_columns)
{
	uint32_t c;
	size_t size = text_character(text, &c);
	int columns = size > 0 ? wcwidth((wchar_t)c) : 0;

	*ret = columns > 0 ? (wchar_t)c : L'?';
	*ret_columns = columns > 0 ? columns : 1;
	return size > 0 ? size : 1;
}

/* Writes a text from a column on, cut at `width`. curses would go on in the next line. */
static void put(int y, int x, int width, const char *text)
{
	wchar_t wide[2] = { 0 };
	int columns;

	if (move(y, x) == ERR)
		return;
	if (width > COLS - x)
		width = COLS - x;
	while (*text) {
		text += next_character(text, &wide[0], &columns);
		width -= columns;
		if (width < 0)
			break;
		addnwstr(wide, 1);
	}
}

/* The same, of a name: shortened in the middle. */
static void put_name(int y, int x, int width, const char *name)
{
	char text[NAME_SIZE];

	if (width <= 0)
		return;
	snprintf(text, sizeof(text), "%s", name);
	terminal_shorten(text, (size_t)width);
	put(y, x, width, text);
}

/* Writes a line's last columns, where it is too long for all, and otherwise a hint behind it. */
static void put_end(int y, const char *text, const char *hint)
{
	int width = 0, columns;
	wchar_t c;

	for (const char *at = text; *at; width += columns)
		at += next_character(at, &c, &columns);
	for (; width > COLS; width -= columns)
		text += next_character(text, &c, &columns);
	put(y, 0, COLS, text);
	put(y, width, COLS, hint);
}

static void put_share(int y, int x, uint64_t value, uint64_t whole)
{
	char text[16];

	snprintf(text, sizeof(text), "%6.1f %%",
		 whole > 0 ? 100.0 * (double)value / (double)whole : 0);
	put(y, x, 8, text);
}

static void put_number(int y, int x, pid_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%8d", number);
	put(y, x, 8, text);
}

static const char *const titles[] = {
	[TOP_SELF] = "self",     [TOP_TOTAL] = "total", [TOP_NAME] = "name",
	[TOP_BINARY] = "binary", [TOP_PID] = "PID",     [TOP_TID] = "TID",
};

static const char *const list_names[TOP_N_LISTS] = {
	[TOP_FUNCTIONS] = "functions",
	[TOP_PROCESSES] = "processes",
	[TOP_THREADS] = "threads",
};

/* Where the columns of a list are; a name ends where the binary begins. */
static int binary_width(void)
{
	return COLS / 4 < MAX_BINARY ? COLS / 4 : MAX_BINARY;
}

static int column_at(enum top_list list, enum top_column column)
{
	switch (column) {
	case TOP_SELF:
		return 0;
	case TOP_TOTAL:
	case TOP_TID:
		return 9;
	case TOP_PID:
		return list == TOP_THREADS ? 18 : 9;
	case TOP_NAME:
		return list == TOP_THREADS ? 28 : 19;
	case TOP_BINARY:
		return COLS - binary_width();
	}
	return 0;
}

/* Functions have the label that was asked for in front of their binary. */
static bool has_label(const struct top_view *view)
{
	return view->list == TOP_FUNCTIONS && view->interval->by[0] && COLS >= LABEL_COLUMNS;
}

static int label_at(void)
{
	return COLS - binary_width() - LABEL_WIDTH - 1;
}

static void draw_titles(const struct top_view *view, int y)
{
	const enum top_column *columns;
	size_t n = top_view_columns(view, &columns);

	attron(A_REVERSE);
	mvhline(y, 0, ' ', COLS);
	for (size_t i = 0; i < n; i++) {
		bool is_text = columns[i] == TOP_NAME || columns[i] == TOP_BINARY;
		const char *title = titles[columns[i]];
		int x = column_at(view->list, columns[i]) + (is_text ? 0 : 8 - (int)strlen(title));

		if (columns[i] == view->columns[view->list])
			attron(A_BOLD | A_UNDERLINE);
		put(y, x, COLS, title);
		attroff(A_BOLD | A_UNDERLINE);
	}
	if (has_label(view))
		put_name(y, label_at(), LABEL_WIDTH, view->interval->by);
	attroff(A_REVERSE);
}

static void draw_function(const struct top_view *view, const struct top_row *row, int y)
{
	static const char *const relations[] = {
		[TOP_CALLER] = "called by ",
		[TOP_ITSELF] = "itself",
		[TOP_CALLEE] = "calls ",
		[TOP_WITHIN] = "",
	};
	bool is_detail = row->kind != TOP_FUNCTION;
	bool is_within = row->kind == TOP_WITHIN;
	int x = column_at(view->list, TOP_NAME), binary = column_at(view->list, TOP_BINARY);
	int end = (has_label(view) ? label_at() : binary) - 1;
	char label[HOT_LABEL_SIZE];

	if (!is_detail)
		put_share(y, column_at(view->list, TOP_SELF), row->self, row->whole);
	put_share(y, column_at(view->list, is_within ? TOP_PID : TOP_TOTAL), row->total,
		  row->whole);
	if (is_detail) {
		x += 2;
		put(y, x, end - x, relations[row->kind]);
		x += (int)strlen(relations[row->kind]);
	}
	if (row->kind == TOP_ITSELF)
		return;
	put_name(y, x, end - x, row->function->name);
	if (!is_detail && has_label(view)) {
		hot_describe_label(row->function, label);
		put_name(y, label_at(), LABEL_WIDTH, label);
	}
	attron(A_DIM);
	put_name(y, binary, binary_width(),
		 hot_list_binary(&view->interval->functions, row->function));
	attroff(A_DIM);
}

static void draw_row(const struct top_view *view, size_t i, int y)
{
	const struct top_row *row = &view->rows.items[i];
	int x = column_at(view->list, TOP_NAME);
	char text[2 * sizeof(row->thread->comm) + 4];

	if (i == view->selected)
		attron(A_REVERSE);
	mvhline(y, 0, ' ', COLS);
	if (row->function) {
		draw_function(view, row, y);
	} else {
		put_share(y, column_at(view->list, TOP_SELF), row->self, row->whole);
		put_number(y, column_at(view->list, TOP_PID), row->thread->key.pid);
		if (row->kind == TOP_THREAD)
			put_number(y, column_at(view->list, TOP_TID), row->thread->key.tid);
		snprintf(text, sizeof(text), row->kind == TOP_THREAD ? "%s (%s)" : "%s",
			 top_row_name(row), row->thread->comm);
		put_name(y, x, COLS - x, text);
	}
	attroff(A_REVERSE);
}

static void draw_status(const struct top_view *view, bool is_paused, int y)
{
	char text[TOP_FILTER_SIZE + 256], filter[TOP_FILTER_SIZE + 64] = "";

	if (view->filter[0])
		snprintf(filter, sizeof(filter), ", filter \"%s\": %zu of %zu", view->filter,
			 view->n_found, view->n_all);
	snprintf(text, sizeof(text), "%s%s by %s%s",
		 is_paused ? "PAUSED, sampling goes on; Space resumes: " : "",
		 list_names[view->list], titles[view->columns[view->list]], filter);
	if (is_paused)
		attron(A_BOLD);
	put(y, 0, COLS, text);
	attroff(A_BOLD);
}

static void draw_bottom(const struct top_view *view, bool edits_filter)
{
	_cleanup_free_ char *keys = NULL;
	char text[TOP_FILTER_SIZE + 64];
	size_t size;
	FILE *to;

	if (edits_filter) {
		snprintf(text, sizeof(text), "/%s_", view->filter);
		put_end(LINES - 1, text, "  Enter keep  Esc clear");
		return;
	}
	to = open_memstream(&keys, &size);
	if (!to)
		return;
	top_keys_list_briefly(to);
	if (fclose(to) == 0)
		put(LINES - 1, 0, COLS, keys);
}

/* Lines above the list. */
static int head_height(const struct top_view *view)
{
	return view->interval && view->interval->labels[0] ? 5 : 4;
}

size_t top_screen_help_page(void)
{
	return LINES > 2 ? (size_t)LINES - 1 : 1;
}

size_t top_screen_page(const struct top_view *view)
{
	int rows = LINES - head_height(view) - 1;

	return rows > 1 ? (size_t)rows : 1;
}

/* Scrolls as little as needed for the selected row to be seen. */
static void scroll_to_selected(struct top_screen *screen, const struct top_view *view)
{
	size_t page = top_screen_page(view), n = view->rows.n;

	if (screen->first + page > n)
		screen->first = n > page ? n - page : 0;
	if (view->selected < screen->first)
		screen->first = view->selected;
	else if (view->selected >= screen->first + page)
		screen->first = view->selected - page + 1;
}

int top_screen_draw(struct top_screen *screen, const struct top_view *view, bool is_paused,
		    bool edits_filter)
{
	int y = head_height(view);

	erase();
	if (!view->interval) {
		put(0, 0, COLS, "Sampling; the first table comes when the first interval is over.");
	} else {
		put(0, 0, COLS, view->interval->target);
		put(1, 0, COLS, view->interval->last);
		draw_status(view, is_paused, 2);
		put(3, 0, COLS, view->interval->labels);
		draw_titles(view, y - 1);
		scroll_to_selected(screen, view);
		for (size_t i = screen->first; i < view->rows.n && y < LINES - 1; i++, y++)
			draw_row(view, i, y);
	}
	/* On a low screen, in place of what does not fit above it. */
	move(LINES - 1, 0);
	clrtoeol();
	draw_bottom(view, edits_filter);
	return show();
}

/* The keys, in lines that fit. NULL: out of memory. */
static char *make_help(size_t *ret_n)
{
	_cleanup_free_ char *list = NULL;
	size_t size;
	FILE *to = open_memstream(&list, &size);

	if (!to)
		return NULL;
	(void)top_keys_list((size_t)COLS, to);
	if (fclose(to) != 0)
		return NULL;
	*ret_n = 0;
	for (const char *end = list; (end = strchr(end, '\n')); end++)
		(*ret_n)++;
	return steal_ptr(list);
}

int top_screen_draw_help(struct top_screen *screen)
{
	size_t n, page = top_screen_help_page();
	_cleanup_free_ char *list = make_help(&n);
	char *rest = list, *line, bottom[80] = "Any key goes back.";

	if (!list)
		return -ENOMEM;
	if (n <= page || screen->first_of_help > n - page)
		screen->first_of_help = n > page ? n - page : 0;
	for (size_t i = 0; i < screen->first_of_help; i++)
		strsep(&rest, "\n");
	erase();
	for (int y = 0; y < LINES - 1 && (line = strsep(&rest, "\n")); y++)
		put(y, 0, COLS, line);
	if (n > page)
		snprintf(bottom, sizeof(bottom), "%zu to %zu of %zu lines; Down goes on. %s",
			 screen->first_of_help + 1, screen->first_of_help + page, n,
			 "Other keys go back.");
	put(LINES - 1, 0, COLS, bottom);
	return show();
}

void top_screen_scroll_help(struct top_screen *screen, long lines)
{
	size_t *first = &screen->first_of_help;

	if (lines < 0)
		*first = *first > (size_t)-lines ? *first - (size_t)-lines : 0;
	else
		*first = (size_t)lines < SIZE_MAX - *first ? *first + (size_t)lines : SIZE_MAX;
}
