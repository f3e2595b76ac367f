// SPDX-License-Identifier: Apache-2.0
#include "cli/probe_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "log/log.h"

#define SECTION "probe"
#define MAX_RATE 1000000

int probe_list_add(struct probe_list *list, const char *probe, const char *name,
		   unsigned int max_rate)
{
	struct probe_entry entry = {
		.probe = probe ? strdup(probe) : NULL,
		.name = name ? strdup(name) : NULL,
		.max_rate = max_rate,
	};

	if (!entry.probe != !probe || !entry.name != !name ||
	    array_reserve(list->items, list->n, list->size) < 0) {
		free(entry.probe);
		free(entry.name);
		return -ENOMEM;
	}
	list->items[list->n++] = entry;
	return 0;
}

unsigned int probe_list_parse_rate(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || value > MAX_RATE)
		return 0;
	return (unsigned int)value;
}

struct reading {
	struct probe_list *list;
	const char *path;
	unsigned int section_line;
	size_t n_before; /* entries of others */
};

static int wrong(const struct reading *r, unsigned int line, unsigned int column, const char *why)
{
	log_error("%s:%u:%u: %s", r->path, line, column, why);
	return -EINVAL;
}

static int end_section(const struct reading *r)
{
	if (r->list->n > r->n_before && !r->list->items[r->list->n - 1].probe)
		return wrong(r, r->section_line, 1,
			     "this section lacks its probe: give probe = KIND:PATH:NAME(VALUES)");
	return 0;
}

static bool is_end(const char *text)
{
	text += strspn(text, " \t");
	return *text == '\0' || *text == '#';
}

/* Copies what is in TOML's quotes, or else is as it is. -EINVAL: it does not end with them. */
static int unquote(const char *text, char **ret)
{
	const char quote = text[0];
	char *to;

	if (quote != '"' && quote != '\'') {
		*ret = strdup(text);
		return *ret ? 0 : -ENOMEM;
	}
	*ret = to = malloc(strlen(text));
	if (!to)
		return -ENOMEM;
	for (text++; *text && *text != quote; text++) {
		if (quote == '"' && *text == '\\' && *++text != '"' && *text != '\\')
			return -EINVAL;
		*to++ = *text;
	}
	*to = '\0';
	return *text == quote && is_end(text + 1) ? 0 : -EINVAL;
}

static int unquote_value(const struct reading *r, const struct config_entry *entry, char **ret)
{
	int err = unquote(entry->value, ret);

	if (err != -EINVAL)
		return err;
	return wrong(r, entry->line, entry->value_column,
		     "it must end with its quote; in double ones, \\ is for \\\\ and \\\" alone");
}

static int begin_section(struct reading *r, const struct config_entry *entry)
{
	_cleanup_free_ char *name = NULL;
	int err = end_section(r);

	if (err < 0)
		return err;
	if (strcmp(entry->section, SECTION) != 0)
		return wrong(r, entry->line, entry->key_column,
			     "sections are called [" SECTION ".NAME] or [" SECTION " NAME]");
	r->section_line = entry->line;
	err = unquote_value(r, entry, &name);
	return err < 0 ? err : probe_list_add(r->list, NULL, name, 0);
}

static int set_probe(struct reading *r, struct probe_entry *to, const struct config_entry *entry)
{
	_cleanup_free_ char *probe = NULL;
	int err;

	if (to->probe)
		return wrong(r, entry->line, entry->key_column, "a section has one probe");
	err = unquote_value(r, entry, &probe);
	if (err == 0)
		to->probe = steal_ptr(probe);
	return err;
}

static int set_rate(struct reading *r, struct probe_entry *to, const struct config_entry *entry)
{
	const size_t length = strcspn(entry->value, " \t#");
	char number[16] = "";

	if (length < sizeof(number) && is_end(entry->value + length))
		memcpy(number, entry->value, length);
	to->max_rate = probe_list_parse_rate(number);
	return to->max_rate > 0 ? 0 :
				  wrong(r, entry->line, entry->value_column,
					"max-rate takes a whole number from 1 to 1000000");
}

static int take(void *arg, const struct config_entry *entry)
{
	struct reading *r = arg;
	struct probe_entry *to;

	if (entry->wrong)
		return wrong(r, entry->line, entry->key_column, entry->wrong);
	if (!entry->key[0])
		return begin_section(r, entry);
	if (r->list->n == r->n_before)
		return wrong(r, entry->line, entry->key_column,
			     "a section [" SECTION ".NAME] has to begin first");
	to = &r->list->items[r->list->n - 1];
	if (strcmp(entry->key, "probe") == 0)
		return set_probe(r, to, entry);
	if (strcmp(entry->key, "max-rate") != 0)
		return wrong(r, entry->line, entry->key_column,
			     "the keys of a probe are probe and max-rate");
	return set_rate(r, to, entry);
}

int probe_list_read(struct probe_list *list, const char *path)
{
	struct reading r = { .list = list, .path = path, .n_before = list->n };
	_cleanup_fclose_ FILE *from = fopen(path, "re");
	int err = from ? config_read(from, take, &r) : -errno;

	if (err == 0)
		err = end_section(&r);
	else if (err != -EINVAL)
		log_error("cannot read %s: %s", path, strerror(-err));
	return err;
}

void probe_list_done(struct probe_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].probe);
		free(list->items[i].name);
	}
	free(list->items);
	*list = (struct probe_list){ 0 };
}
