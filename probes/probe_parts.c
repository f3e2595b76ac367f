// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/loader.h"
#include "functions/function_offset.h"
#include "functions/line_places.h"

static const struct {
	const char *word;
	enum probe_kind kind;
} kinds[] = {
	{ PROBE_LABEL, PROBE_CALL },   { PROBE_SPAN, PROBE_CALL }, { "uprobe", PROBE_CALL },
	{ "uretprobe", PROBE_RETURN }, { "usdt", PROBE_STATIC },
};

bool probe_kind_find(const char *word, size_t n, enum probe_kind *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strlen(kinds[i].word) != n || memcmp(kinds[i].word, word, n) != 0)
			continue;
		*ret = kinds[i].kind;
		return true;
	}
	return false;
}

/*
 * Where the name begins in PATH:NAME. Both may have colons: the path ends at the first one before
 * which there is a file, or, where none can be read, at the first one; lib:NAME has one more. NULL:
 * there is no name.
 */
static const char *find_name(const char *argument)
{
	if (strncmp(argument, LIBRARY_PREFIX, strlen(LIBRARY_PREFIX)) == 0) {
		const char *colon = strchr(argument + strlen(LIBRARY_PREFIX), ':');

		return colon ? colon + 1 : NULL;
	}
	for (const char *colon = strchr(argument, ':'); colon; colon = strchr(colon + 1, ':')) {
		_cleanup_free_ char *path = strndup(argument, (size_t)(colon - argument));
		struct stat st;

		if (path && strchr(path, '/') && stat(path, &st) == 0 && S_ISREG(st.st_mode))
			return colon + 1;
	}
	return strchr(argument, ':') ? strchr(argument, ':') + 1 : NULL;
}

void probe_parts_done(struct probe_parts *parts)
{
	free(parts->path);
	free(parts->name);
}

static bool are_by_name(const struct arguments *arguments)
{
	for (size_t i = 0; i < arguments->n; i++) {
		const struct argument *a = &arguments->of[i];

		if (!a->path[0] || a->number || a->length.number ||
		    (a->form.type == VALUE_BYTES && !a->length.path[0] &&
		     a->length.how.base != DP_BASE_CONSTANT))
			return false;
	}
	return true;
}

static int fail(char ret_why[ARGUMENTS_WHY_SIZE], const char *text)
{
	snprintf(ret_why, ARGUMENTS_WHY_SIZE, "%s", text);
	return -EINVAL;
}

/* What is not where a function begins. */
static bool is_within(const struct probe_parts *parts)
{
	return parts->is_line || parts->has_offset;
}

static int set_place(struct probe_parts *ret, char ret_why[ARGUMENTS_WHY_SIZE])
{
	struct source_line line;
	uint64_t offset = 0;
	size_t length;

	ret->is_line = ret->kind != PROBE_STATIC && source_line_parse(ret->name, &line);
	ret->has_offset = ret->kind != PROBE_STATIC && !ret->is_line &&
			  function_offset_parse(ret->name, &length, &offset) && offset > 0;
	ret->arguments.line = ret->is_line ? line.line : 0;
	if (ret->kind != PROBE_RETURN || !is_within(ret))
		return 0;
	return fail(ret_why, ret->is_line ? "returns are of functions, not of a line" :
					    "returns are of functions, not of FUNCTION+N");
}

int probe_parts_make(const char *path, const char *name, enum probe_kind kind,
		     struct probe_parts *ret, char ret_why[ARGUMENTS_WHY_SIZE])
{
	const char *values;
	uint32_t line;
	int err;

	*ret = (struct probe_parts){ .kind = kind };
	ret_why[0] = '\0';
	if (*path == '\0' || *name == '\0')
		return -EINVAL;
	if (kind == PROBE_STATIC && !strchr(name, ':'))
		return fail(ret_why, "expected PATH:PROVIDER:NAME");
	values = arguments_find(name, kind);
	ret->path = strdup(path);
	ret->name = values ? strndup(name, (size_t)(values - name)) : strdup(name);
	if (!ret->path || !ret->name)
		return -ENOMEM;
	err = set_place(ret, ret_why);
	line = ret->arguments.line;
	if (err == 0 && values)
		err = arguments_parse(values, kind, &ret->arguments, ret_why);
	ret->arguments.line = line;
	if (err == 0 && is_within(ret) && !are_by_name(&ret->arguments))
		err = fail(
			ret_why,
			"arg1, arg2, ... are where a function begins: at a line or FUNCTION+N, give names");
	return err;
}

int probe_parts_split(const char *argument, enum probe_kind kind, struct probe_parts *ret,
		      char ret_why[ARGUMENTS_WHY_SIZE])
{
	const char *name = find_name(argument);
	_cleanup_free_ char *path = name ? strndup(argument, (size_t)(name - argument) - 1) : NULL;

	*ret = (struct probe_parts){ .kind = kind };
	ret_why[0] = '\0';
	if (!name && library_name(argument))
		return fail(ret_why,
			    "expected " LIBRARY_PREFIX "NAME:FUNCTION (of a program lib: ./lib)");
	if (!name)
		return -EINVAL;
	return path ? probe_parts_make(path, name, kind, ret, ret_why) : -ENOMEM;
}
