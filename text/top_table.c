// SPDX-License-Identifier: Apache-2.0
#include "text/top_table.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"
#include "report/report.h"
#include "text/terminal.h"

/* Rows of a table for a file, and lines around the table on a terminal. */
#define ROWS 20
#define OTHER_ROWS 5
#define MIN_COLUMNS 60
/* Of a label. */
#define LABEL_WIDTH 20

/* ECMA-48: clear to the end of the line, of the screen. */
#define CLEAR_LINE "\033[K"
#define CLEAR_REST "\033[J"

/* Where it goes. */
struct screen {
	FILE *to;
	bool is_terminal, replaces;
	int rows, columns;
};

static void screen_init(struct screen *screen, bool replaces, FILE *to)
{
	struct winsize size = { 0 };

	*screen = (struct screen){ .to = to, .replaces = replaces, .rows = ROWS, .columns = 200 };
	screen->is_terminal = isatty(fileno(to));
	if (!screen->is_terminal || ioctl(fileno(to), TIOCGWINSZ, &size) < 0)
		return;
	if (size.ws_row > OTHER_ROWS)
		screen->rows = size.ws_row - OTHER_ROWS;
	if (size.ws_row > 0)
		screen->columns = size.ws_col > MIN_COLUMNS ? size.ws_col : MIN_COLUMNS;
}

/* A line must not be wider than the screen: it would move the others down. */
static void put_line(const struct screen *screen, const char *text)
{
	char line[2048];
	size_t at = 0;
	int columns = 0;

	snprintf(line, sizeof(line), "%s", text);
	text_make_plain(line);
	while (line[at] && columns++ < screen->columns - 1) {
		uint32_t c;

		at += text_character(line + at, &c);
	}
	line[at] = '\0';
	fprintf(screen->to, "%s%s\n", line, screen->replaces ? CLEAR_LINE : "");
}

static double percent(uint64_t value, uint64_t all)
{
	return all > 0 ? 100.0 * (double)value / (double)all : 0;
}

/* Blanks that are missing behind a name. */
static int pad(const char *name, int width)
{
	int n = (int)terminal_width(name, strlen(name));

	return n < width ? width - n : 0;
}

/* A column as wide as others', and a blank. */
static void put_label(const char *text, char ret[HOT_LABEL_SIZE + LABEL_WIDTH])
{
	char shown[HOT_LABEL_SIZE];

	snprintf(shown, sizeof(shown), "%s", text);
	text_make_plain(shown);
	terminal_shorten(shown, LABEL_WIDTH);
	snprintf(ret, HOT_LABEL_SIZE + LABEL_WIDTH, "%s%*s ", shown, pad(shown, LABEL_WIDTH), "");
}

static void put_functions(const struct top_table *table, const struct screen *screen)
{
	bool has_label = table->label && screen->columns >= MIN_COLUMNS + LABEL_WIDTH;
	int room = screen->columns - 40 - (has_label ? LABEL_WIDTH + 1 : 0);
	int width = room < 50 ? room : 50;
	int n = 0;
	char line[2048], name[1024], label[HOT_LABEL_SIZE + LABEL_WIDTH] = "";
	char value[HOT_LABEL_SIZE];

	if (has_label)
		put_label(table->label, label);
	snprintf(line, sizeof(line), "%8s %8s  %-*s %s%s", "self", "total", width, "function",
		 label, "binary");
	put_line(screen, line);
	for (const struct hot *f = table->functions->functions; f && n < screen->rows;
	     f = f->hh.next, n++) {
		snprintf(name, sizeof(name), "%s", f->name);
		text_make_plain(name); /* it may have been cut in a character */
		if (screen->is_terminal)
			terminal_shorten(name, (size_t)width);
		if (has_label) {
			hot_describe_label(f, value);
			put_label(value, label);
		}
		snprintf(line, sizeof(line), "%6.1f %% %6.1f %%  %s%*s %s%s",
			 percent(f->self, table->value), percent(f->total, table->value), name,
			 pad(name, width), "", label, hot_list_binary(table->functions, f));
		put_line(screen, line);
	}
}

int top_table_print(const struct top_table *table, bool replaces, FILE *to)
{
	struct screen screen;

	hot_list_sort(table->functions);
	screen_init(&screen, replaces, to);
	for (size_t i = 0; i < TOP_HEAD_LINES; i++)
		put_line(&screen, table->head[i]);
	put_functions(table, &screen);
	if (replaces)
		fputs(CLEAR_REST, to);
	return report_write_error(to);
}
