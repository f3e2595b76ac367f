// SPDX-License-Identifier: Apache-2.0
#include "text/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

#define ELLIPSIS "..."
/* In fewer columns, a sentence is better off below the beginning of its line. */
#define MIN_LAST_COLUMN 20
/* Most binaries have shorter names. */
#define MAX_BINARY 20

size_t terminal_columns(FILE *to, bool wide)
{
	struct winsize size = { 0 };

	if (wide || !isatty(fileno(to)))
		return 0;
	if (ioctl(fileno(to), TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return 80;
	return size.ws_col > TERMINAL_MIN_COLUMNS ? size.ws_col : TERMINAL_MIN_COLUMNS;
}

/* The size of a character, or of a sequence that sets a colour. */
static size_t next_character(const char *text, size_t *ret_columns)
{
	uint32_t c;
	size_t size;

	*ret_columns = 1;
	if (strncmp(text, "\x1b[", 2) == 0) {
		*ret_columns = 0;
		size = 2 + strcspn(text + 2, "m");
		return text[size] ? size + 1 : size;
	}
	size = text_character(text, &c);
	return size ? size : 1;
}

/* How many bytes the first characters have, with the colours behind them. */
static size_t bytes_of(const char *text, size_t columns)
{
	size_t at = 0, width, size;

	while (text[at]) {
		size = next_character(text + at, &width);
		if (width > columns)
			break;
		at += size;
		columns -= width;
	}
	return at;
}

size_t terminal_width(const char *text, size_t size)
{
	size_t n = 0, width;

	for (size_t at = 0; at < size; n += width)
		at += next_character(text + at, &width);
	return n;
}

void terminal_shorten(char *name, size_t columns)
{
	const size_t dots = sizeof(ELLIPSIS) - 1;
	size_t width = terminal_width(name, strlen(name));
	size_t head, tail;

	if (width <= columns || columns <= dots)
		return;
	head = bytes_of(name, (columns - dots) / 2);
	tail = bytes_of(name, width - (columns - dots - (columns - dots) / 2));
	memcpy(name + head, ELLIPSIS, dots);
	memmove(name + head + dots, name + tail, strlen(name + tail) + 1);
}

/* Where a line goes on in the next one: below its last column, where two spaces precede that. */
static size_t find_indent(const char *line, size_t size, size_t columns)
{
	size_t blanks = strspn(line, " "), found = blanks + 2;

	for (size_t at = blanks; at + 2 < size; at++)
		if (line[at] == ' ' && line[at + 1] == ' ' && line[at + 2] != ' ')
			found = terminal_width(line, at + 2);
	if (found + MIN_LAST_COLUMN <= columns)
		return found;
	return blanks + 2 <= columns / 2 ? blanks + 2 : 0;
}

/* The end of what fits: behind a word, or else wherever the columns end; a character at least. */
static size_t find_end(const char *line, size_t size, size_t columns)
{
	size_t fits = bytes_of(line, columns > 0 ? columns : 1), end = fits;

	if (fits >= size)
		return size;
	while (end > 0 && line[end] != ' ')
		end--;
	while (end > 0 && line[end - 1] == ' ')
		end--;
	return end > strspn(line, " ") ? end : fits;
}

static void write_line(const char *line, size_t size, size_t columns, FILE *to)
{
	const char *last = line + size;
	size_t end = find_end(line, size, columns);
	size_t indent = find_indent(line, end, columns);

	fwrite(line, 1, end, to);
	for (line += end; line < last; line += end) {
		line += strspn(line, " ");
		end = find_end(line, (size_t)(last - line), columns - indent);
		if (end > 0)
			fprintf(to, "\n%*s%.*s", (int)indent, "", (int)end, line);
	}
	fputc('\n', to);
}

void terminal_write(const char *text, size_t columns, FILE *to)
{
	while (*text) {
		size_t size = strcspn(text, "\n");

		write_line(text, size, columns, to);
		text += size + (text[size] == '\n');
	}
}

int terminal_begin(struct terminal *ret, FILE *stream, bool wide)
{
	*ret = (struct terminal){ .to = stream,
				  .stream = stream,
				  .columns = terminal_columns(stream, wide) };
	if (ret->columns == 0)
		return 0;
	ret->to = open_memstream(&ret->text, &ret->size);
	return ret->to ? 0 : -errno;
}

int terminal_put_names(const struct terminal *terminal, size_t taken, int width,
		       const char *function, const char *binary, const char *dim,
		       const char *normal)
{
	_cleanup_free_ char *name = strdup(function), *file = strdup(binary);
	size_t room = terminal->columns > taken ? terminal->columns - taken : 0;
	size_t of_file = room / 3 < MAX_BINARY ? room / 3 : MAX_BINARY;

	if (!name || !file)
		return -ENOMEM;
	if (terminal->columns > 0) {
		if (room < TERMINAL_NAMES) {
			of_file = 0;
			file[0] = '\0';
		}
		width = (int)(room - of_file - (of_file > 0));
		terminal_shorten(name, (size_t)width);
		terminal_shorten(file, of_file);
	}
	width -= (int)terminal_width(name, strlen(name));
	if (!file[0])
		fprintf(terminal->to, "%s\n", name);
	else
		fprintf(terminal->to, "%s%*s %s%s%s\n", name, width > 0 ? width : 0, "", dim, file,
			normal);
	return 0;
}

int terminal_end(struct terminal *terminal)
{
	int err = 0;

	if (terminal->columns == 0)
		return 0;
	if (fclose(terminal->to) != 0)
		err = -ENOMEM;
	else
		terminal_write(terminal->text, terminal->columns, terminal->stream);
	free(terminal->text);
	return err;
}
