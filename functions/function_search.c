// SPDX-License-Identifier: Apache-2.0
#include "functions/function_search.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elf/elf_functions.h"
#include "functions/function_ends.h"
#include "functions/function_offset.h"
#include "functions/function_parts.h"
#include "functions/function_pattern.h"
#include "functions/line_places.h"
#include "limits/limits.h"
#include "log/suggestion.h"

struct search {
	struct function_pattern pattern;
	int best; /* enum function_match of what was found */
	struct function_list found;
};

static int add(struct function_list *list, enum listed_kind kind, const struct elf_function *of)
{
	_cleanup_free_ char *name = demangle(of->symbol, NAMES_DEMANGLE_SIMPLE);
	struct listed_function f = { kind, of->offset, of->size, of->symbol, name, 0 };

	return name ? function_list_add(list, &f) : -ENOMEM;
}

static int consider(void *arg, const struct elf_function *f)
{
	struct search *s = arg;
	int match = function_pattern_match(&s->pattern, f->symbol);

	if (match < 0)
		return match;
	if (match == FUNCTION_OTHER || match < s->best)
		return 0;
	if (match > s->best)
		s->found.size = 0;
	s->best = match;
	return add(&s->found, LISTED_FUNCTION, f);
}

struct guess {
	struct suggestion suggestion;
	char *symbol, *name; /* the suggested one */
	size_t bytes;        /* of the names so far */
};

/* Is it the name, but for a namespace or class in front, or for a template's types behind it? */
static bool is_within(const char *name, const char *given)
{
	size_t n = strlen(name), wanted = strlen(given);

	if (n < wanted + 1)
		return false;
	return (strcmp(name + n - wanted, given) == 0 && name[n - wanted - 1] == ':') ||
	       (strncmp(name, given, wanted) == 0 && name[wanted] == '<');
}

static int keep(struct guess *g, const char *symbol, char *name)
{
	free(g->name);
	free(g->symbol);
	g->name = name;
	g->symbol = strdup(symbol);
	return g->symbol ? 0 : -ENOMEM;
}

static int compare(void *arg, const struct elf_function *f)
{
	_cleanup_free_ char *name = demangle(f->symbol, NAMES_DEMANGLE_SIMPLE);
	struct guess *g = arg;

	g->bytes += strlen(f->symbol);
	if (g->bytes > FUNCTION_GUESS_MAX_BYTES)
		return 1;
	if (!name)
		return -ENOMEM;
	suggestion_consider(&g->suggestion, name);
	if (g->suggestion.word != name && is_within(name, g->suggestion.given)) {
		g->suggestion.word = name;
		g->suggestion.distance = 0;
	}
	if (g->suggestion.word == name)
		return keep(g, f->symbol, steal_ptr(name));
	return 0;
}

static int add_hint(int fd, const char *pattern, struct function_list *list)
{
	struct guess g = { .suggestion = { .given = pattern } };
	int err = elf_functions_each(fd, compare, &g);

	if (err == 0 && g.name)
		err = add(list, LISTED_HINT, &(struct elf_function){ .symbol = g.symbol });
	free(g.name);
	free(g.symbol);
	return err < 0 ? err : 0;
}

static int add_why(struct function_list *list, const struct line_places *p,
		   const struct source_line *line, int err)
{
	char why[2 * LINE_PLACES_NAME_SIZE + 64];

	if (err == -ENODATA)
		snprintf(why, sizeof(why), "it has no debug information of lines");
	else if (err == -ENOENT)
		snprintf(why, sizeof(why), "its debug information has no such source file");
	else if (err == -EEXIST)
		snprintf(why, sizeof(why), "it may be %s or %s", p->file, p->other);
	else if (p->next > 0)
		snprintf(why, sizeof(why), "line %u has no code, the next one is %u", line->line,
			 p->next);
	else
		snprintf(why, sizeof(why), "line %u has no code, nor has one behind it",
			 line->line);
	return function_list_add(
		list, &(struct listed_function){ .kind = LISTED_WHY, .symbol = "?", .name = why });
}

static int search_line(int fd, const struct source_line *line, const struct function_query *query,
		       struct function_list *ret)
{
	_cleanup_(line_places_done) struct line_places p;
	int err = line_places_find(fd, line, &p);

	if (err == 0)
		err = elf_functions_locate(fd, p.addresses, &p.n);
	if (err == 0 && p.n == 0)
		err = -ESRCH;
	if (err == -EEXIST || err == -ENOENT || err == -ENODATA || err == -ESRCH)
		return query->has_hint ? add_why(ret, &p, line, err) : 0;
	for (size_t i = 0; err == 0 && i < p.n; i++)
		err = function_list_add(ret, &(struct listed_function){ .kind = LISTED_FUNCTION,
									.offset = p.addresses[i],
									.symbol = query->pattern,
									.name = query->pattern });
	return err;
}

/* What a pattern means without an offset. */
static int search_pattern(int fd, const char *pattern, const struct function_query *query,
			  struct search *s)
{
	int err = function_pattern_init(&s->pattern, pattern);

	if (err == 0)
		err = elf_functions_each(fd, consider, s);
	function_pattern_done(&s->pattern);
	if (err == 0 && s->found.size == 0 && query->has_hint)
		err = add_hint(fd, pattern, &s->found);
	return err;
}

static int search_offset(int fd, size_t length, uint64_t offset, const struct function_query *query,
			 struct search *s)
{
	_cleanup_free_ char *name = strndup(query->pattern, length);
	int err = name ? search_pattern(fd, name, query, s) : -ENOMEM;

	return err < 0 ? err : function_offset_apply(fd, offset, query->has_hint, &s->found);
}

int function_search(int fd, const struct function_query *query, struct function_list *ret)
{
	struct search s = { 0 };
	struct source_line line;
	uint64_t offset;
	size_t length;
	int err;

	*ret = (struct function_list){ 0 };
	if (source_line_parse(query->pattern, &line)) {
		err = search_line(fd, &line, query, ret);
		if (err < 0)
			function_list_done(ret);
		return err;
	}
	if (function_offset_parse(query->pattern, &length, &offset))
		err = search_offset(fd, length, offset, query, &s);
	else
		err = search_pattern(fd, query->pattern, query, &s);
	if (err == 0 && query->has_parts)
		err = function_parts_add(fd, &s.found);
	if (err == 0 && query->has_ends)
		err = function_ends_add(fd, &s.found);
	if (err < 0)
		function_list_done(&s.found);
	*ret = s.found;
	return err;
}
