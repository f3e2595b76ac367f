// SPDX-License-Identifier: Apache-2.0
#include "functions/function_pattern.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/array.h"

static char *squeeze(const char *text)
{
	char *squeezed = strdup(text), *to = squeezed;

	for (const char *from = text; squeezed && *from; from++)
		if (*from != ' ')
			*to++ = *from;
	if (squeezed)
		*to = '\0';
	return squeezed;
}

int function_pattern_init(struct function_pattern *ret, const char *text)
{
	*ret = (struct function_pattern){
		.text = text,
		.squeezed = squeeze(text),
		.is_glob = strpbrk(text, "*?[") != NULL,
		.has_parameters = strchr(text, '(') != NULL,
		.mangling = mangling_find(text),
	};
	return ret->squeezed ? 0 : -ENOMEM;
}

void function_pattern_done(struct function_pattern *p)
{
	free(p->squeezed);
}

/* Is this the symbol itself, with or without a version as in "malloc@@GLIBC_2.2.5"? */
static bool is_symbol(const struct function_pattern *p, const char *symbol)
{
	size_t n = strlen(p->text);

	return strncmp(symbol, p->text, n) == 0 && (symbol[n] == '\0' || symbol[n] == '@');
}

/* What of a coroutine goes on, and what frees it: its frame is their only parameter. Go has methods of these names. */
static bool is_coroutine_part(const char *symbol)
{
	static const char *const ends[] = { ".actor", ".resume", ".destroy", ".cleanup" };
	const char *end = strrchr(symbol, '.');

	for (size_t i = 0; end && i < ARRAY_SIZE(ends); i++)
		if (strcmp(end, ends[i]) == 0)
			return mangling_find(symbol) == MANGLING_CPLUS;
	return false;
}

static bool is_part(const char *symbol)
{
	return strstr(symbol, ".part.") || strstr(symbol, ".cold") || is_coroutine_part(symbol);
}

static enum function_match match_name(const struct function_pattern *p, const char *squeezed)
{
	if (strcmp(p->squeezed, squeezed) == 0)
		return FUNCTION_BY_NAME;
	if (p->is_glob && fnmatch(p->squeezed, squeezed, 0) == 0)
		return FUNCTION_BY_GLOB;
	return FUNCTION_OTHER;
}

/*
 * Matches a name with its parameters. Templates' names begin with the type that they return, which
 * nobody writes: `int max<int>(int, int)`.
 */
static int match_full(const struct function_pattern *p, const char *symbol, const char *simple)
{
	_cleanup_free_ char *original = strndup(symbol, strcspn(symbol, ".@"));
	_cleanup_free_ char *full = original ? demangle(original, NAMES_DEMANGLE_FULL) : NULL;
	_cleanup_free_ char *squeezed = NULL;
	const char *name;

	if (!full)
		return -ENOMEM;
	name = strstr(full, simple);
	squeezed = squeeze(name ? name : full);
	return squeezed ? (int)match_name(p, squeezed) : -ENOMEM;
}

int function_pattern_match(const struct function_pattern *p, const char *symbol)
{
	_cleanup_free_ char *simple = NULL, *squeezed = NULL;
	enum function_match match;

	if (is_symbol(p, symbol))
		return FUNCTION_BY_NAME;
	if (is_part(symbol))
		return FUNCTION_OTHER;
	simple = demangle(symbol, NAMES_DEMANGLE_SIMPLE);
	squeezed = simple ? squeeze(simple) : NULL;
	if (!squeezed)
		return -ENOMEM;
	match = match_name(p, squeezed);
	if (match == FUNCTION_OTHER && p->mangling != MANGLING_NONE)
		match = match_name(p, symbol);
	if (match == FUNCTION_OTHER && p->has_parameters)
		return match_full(p, symbol, simple);
	return (int)match;
}
