// SPDX-License-Identifier: Apache-2.0
#include "cli/limit_table.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "formats/json_value.h"
#include "limits/limit.h"
#include "text/terminal.h"

static void write_row(const struct limit *limit, int name_width, FILE *to)
{
	char value[LIMIT_TEXT_SIZE];

	limit_write(limit, value);
	fprintf(to, "  %-*s  %s: %s\n", name_width, limit->name, value, limit->what);
	fprintf(to, "    beyond: %s", limit->beyond);
	if (limit->words[0])
		fprintf(to, " (%s: \"%s\")", limit_told_word(limit->told), limit->words);
	else
		fprintf(to, " (%s)", limit_told_word(limit->told));
	fputc('\n', to);
}

int limit_table_write_text(FILE *to, bool wide)
{
	struct terminal terminal;
	int name_width = 0, err = terminal_begin(&terminal, to, wide);
	const struct limit *rows;
	size_t n;

	if (err < 0)
		return err;
	rows = limits_list(&n);
	for (size_t i = 0; i < n; i++)
		if (rows[i].name && (int)strlen(rows[i].name) > name_width)
			name_width = (int)strlen(rows[i].name);
	for (size_t i = 0; i < n; i++) {
		if (rows[i].group)
			fprintf(terminal.to, "%s%s\n", i > 0 ? "\n" : "", rows[i].group);
		else
			write_row(&rows[i], name_width, terminal.to);
	}
	return terminal_end(&terminal);
}

/* Negative if there is no memory. */
static int add_row(json_t *list, const struct limit *limit, const char *group)
{
	json_t *json = json_object();
	int err = 0;

	err |= json_object_set_new(json, "group", json_string(group));
	err |= json_object_set_new(json, "name", json_string(limit->name));
	err |= json_object_set_new(json, "value", json_integer((json_int_t)limit->value));
	err |= json_object_set_new(json, "unit", json_string(limit->unit));
	err |= json_object_set_new(json, "what", json_string(limit->what));
	err |= json_object_set_new(json, "told", json_string(limit_told_word(limit->told)));
	err |= json_object_set_new(json, "words", json_string(limit->words));
	err |= json_object_set_new(json, "beyond", json_string(limit->beyond));
	return err | json_array_append_new(list, json);
}

int limit_table_write_json(FILE *to)
{
	json_t *json = json_object(), *list = json_array();
	const char *group = "";
	int err = 0;
	size_t n;
	const struct limit *rows = limits_list(&n);
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].group)
			group = rows[i].group;
		else
			err |= add_row(list, &rows[i], group);
	}
	err |= json_object_set_new(json, "limits", list);
	text = err == 0 ? json_dumps(json, JSON_INDENT(1)) : NULL;
	json_decref(json);
	if (!text)
		return -ENOMEM;
	errno = EIO;
	return fprintf(to, "%s\n", text) < 0 ? -errno : 0;
}
