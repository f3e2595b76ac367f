// SPDX-License-Identifier: Apache-2.0
#include "agent/config.h"

#include <errno.h>
#include <ini.h>
#include <stdbool.h>
#include <string.h>

/* The longest line, without its end. The library needs 3 bytes more. */
#if HAVE_INI_MAX_LINE
#define LINE_MAX_SIZE 16384
#else
#define LINE_MAX_SIZE (INI_MAX_LINE - 3)
#endif

const size_t config_line_max = LINE_MAX_SIZE;

struct reading {
	FILE *from;
	int (*fn)(void *arg, const struct config_entry *entry);
	void *arg;
	char text[LINE_MAX_SIZE + 2]; /* the current line */
	char section[LINE_MAX_SIZE + 2];
	unsigned int line;
	bool has_entry; /* the current line is one, or none is wanted */
	char too_long[64];
	int err;
};

static unsigned int column_of(const struct reading *r, const char *word, const char *from)
{
	const char *at = word[0] ? strstr(from, word) : NULL;

	return (unsigned int)((at ? at : from) - r->text) + 1;
}

static void pass(struct reading *r, const char *key, const char *value, const char *wrong)
{
	const char *begin = r->text + strspn(r->text, " \t"), *equals = strpbrk(begin, "=:");
	const char *rest = *begin == '[' ? begin + strcspn(begin, " .") :
			   equals        ? equals + 1 :
					   begin;
	const struct config_entry entry = {
		.key = key,
		.value = value,
		.section = r->section,
		.line = r->line,
		.key_column = column_of(r, key, begin),
		.value_column = column_of(r, value, rest + strspn(rest, " \t")),
		.wrong = wrong,
	};

	r->has_entry = true;
	if (r->err == 0)
		r->err = r->fn(r->arg, &entry);
}

static int on_entry(void *arg, const char *section, const char *key, const char *value)
{
	struct reading *r = arg;

	pass(r, key, value ? value : "", key[0] ? NULL : "not of the form `key = value'");
	return 1;
}

/* inih says nothing of a section without entries, and keeps only a part of its name. */
static void begin_section(struct reading *r, const char *begin)
{
	const char *end = strchr(begin, ']');
	char text[sizeof(r->text)], *name;

	snprintf(text, sizeof(text), "%.*s", end ? (int)(end - begin - 1) : 0, begin + 1);
	name = strpbrk(text, " .");
	if (!name || name == text || name[1] == '\0') {
		pass(r, "", "", "not of the form `[KIND NAME]'");
		return;
	}
	*name++ = '\0';
	snprintf(r->section, sizeof(r->section), "%s", text);
	pass(r, "", name + strspn(name, " \t"), NULL);
}

/* inih calls nothing for a line that it does not understand, and says only which was the first. */
static void check_last(struct reading *r)
{
	const char *begin = r->text + strspn(r->text, " \t\r\n");

	if (r->line == 0 || r->has_entry || *begin == '\0' || *begin == ';' || *begin == '#')
		return;
	if (*begin == '[')
		begin_section(r, begin);
	else
		pass(r, "", "", "not of the form `key = value'");
}

/* NULL, or what is wrong with the line. Sets how many bytes were read. */
static const char *get_line(struct reading *r, size_t *ret)
{
	const char *wrong = NULL;
	size_t n = 0;
	int c;

	do {
		c = getc(r->from);
		if (c == '\0')
			wrong = "there is a NUL byte in the line";
		else if (n == LINE_MAX_SIZE && c != '\n' && c != EOF)
			wrong = r->too_long;
		else if (c != EOF)
			r->text[n++] = (char)c;
	} while (c != EOF && c != '\n' && !wrong);
	r->text[n] = '\0';
	*ret = n;
	return wrong;
}

/* An fgets() that knows where it is. */
static char *read_line(char *to, int size, void *arg)
{
	struct reading *r = arg;
	const char *wrong;
	size_t n;

	check_last(r);
	r->has_entry = false;
	if (r->err != 0)
		return NULL;
	wrong = get_line(r, &n);
	if (n == 0 && !wrong)
		return NULL;
	r->line++;
	if (!wrong && n + 1 > (size_t)size)
		wrong = r->too_long;
	if (wrong) {
		pass(r, "", "", wrong);
		return NULL;
	}
	/* inih takes a line that begins with a space for a part of the last one. */
	memcpy(to, r->text + strspn(r->text, " \t"), n + 1 - strspn(r->text, " \t"));
	return to;
}

int config_read(FILE *from, int (*fn)(void *arg, const struct config_entry *entry), void *arg)
{
	struct reading r = { .from = from, .fn = fn, .arg = arg };

#if HAVE_INI_MAX_LINE
	ini_max_line = LINE_MAX_SIZE + 3;
#endif
	snprintf(r.too_long, sizeof(r.too_long), "the line is longer than %d bytes", LINE_MAX_SIZE);
	(void)ini_parse_stream(read_line, &r, on_entry, &r);
	if (r.err == 0 && ferror(from))
		return errno ? -errno : -EIO;
	return r.err;
}
