// SPDX-License-Identifier: Apache-2.0
#include "agent/config.h"

#include <errno.h>
#include <ini.h>
#include <stdbool.h>
#include <string.h>

/* Longer lines are read in parts by inih, which takes less. */
#define LINE_MAX_SIZE 190

struct reading {
	FILE *from;
	int (*fn)(void *arg, const struct config_entry *entry);
	void *arg;
	char text[LINE_MAX_SIZE + 2]; /* the current line */
	char section[LINE_MAX_SIZE + 2];
	unsigned int line;
	bool has_entry; /* the current line is one, or none is wanted */
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
	const char *rest = *begin == '[' ? begin + strcspn(begin, " ") :
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
	name = strchr(text, ' ');
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

/* An fgets() that knows where it is. */
static char *read_line(char *to, int size, void *arg)
{
	struct reading *r = arg;
	size_t n;

	check_last(r);
	r->has_entry = false;
	if (r->err != 0 || !fgets(r->text, sizeof(r->text), r->from))
		return NULL;
	r->line++;
	n = strlen(r->text);
	if ((n > LINE_MAX_SIZE || n + 1 > (size_t)size) && !feof(r->from)) {
		pass(r, "", "", "the line is too long");
		return NULL;
	}
	/* inih takes a line that begins with a space for a part of the last one. */
	memcpy(to, r->text + strspn(r->text, " \t"), n + 1 - strspn(r->text, " \t"));
	return to;
}

int config_read(FILE *from, int (*fn)(void *arg, const struct config_entry *entry), void *arg)
{
	struct reading r = { .from = from, .fn = fn, .arg = arg };

	(void)ini_parse_stream(read_line, &r, on_entry, &r);
	if (r.err == 0 && ferror(from))
		return errno ? -errno : -EIO;
	return r.err;
}
