// SPDX-License-Identifier: Apache-2.0
#include "agent/relabel_pattern.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Of a bracket expression, where it ends; text[0] is '['. */
static size_t skip_bracket(const char *text)
{
	size_t i = 1;

	i += text[i] == '^';
	i += text[i] == ']';
	while (text[i] && text[i] != ']') {
		if (text[i] == '[' &&
		    (text[i + 1] == ':' || text[i + 1] == '.' || text[i + 1] == '=')) {
			const char end[] = { text[i + 1], ']', '\0' };
			const char *at = strstr(text + i + 2, end);

			if (!at)
				return strlen(text);
			i = (size_t)(at - text) + 2;
		} else {
			i++;
		}
	}
	return i + (text[i] == ']');
}

/* glibc gives \< \> \` \' a meaning of their own, too. */
static bool is_escape_known(char c)
{
	return isalnum((unsigned char)c) ? strchr("wWsSbB", c) != NULL : !strchr("<>`'", c);
}

/* What RE2 and POSIX have in common only in its looks. NULL: nothing. */
static const char *check_syntax(const char *text, size_t *ret_at)
{
	size_t depth = 0, i = 0, n;
	const char *slash;

	while (text[i]) {
		*ret_at = i;
		switch (text[i]) {
		case '[':
			n = skip_bracket(text + i);
			slash = memchr(text + i, '\\', n);
			if (slash) {
				*ret_at = (size_t)(slash - text);
				return "in brackets, POSIX takes a backslash as itself: write "
				       "[[:alnum:]_] for [\\w]";
			}
			i += n;
			continue;
		case '\\':
			if (!text[i + 1])
				return "a backslash at the end";
			if (!is_escape_known(text[i + 1]))
				return "POSIX regular expressions have no such escape: write [0-9] "
				       "for \\d";
			i += 2;
			continue;
		case '(':
			if (text[i + 1] == '?')
				return "POSIX regular expressions have no (?";
			depth++;
			break;
		case ')':
			if (depth-- == 0)
				return "this ) has no (";
			break;
		case '*':
		case '+':
		case '?':
		case '}':
			if (text[i + 1] == '?')
				return "POSIX regular expressions match as much as they can: leave "
				       "the ? out";
		}
		i++;
	}
	*ret_at = i;
	return depth > 0 ? "a ( has no )" : NULL;
}

int relabel_pattern_init(struct relabel_pattern *ret, const char *text, size_t *ret_at, char *why,
			 size_t why_size)
{
	const char *wrong = check_syntax(text, ret_at);
	_cleanup_free_ char *whole = NULL;
	int err;

	if (wrong) {
		snprintf(why, why_size, "%s", wrong);
		return -EINVAL;
	}
	*ret_at = 0;
	if (asprintf(&whole, "^(%s)$", text) < 0)
		return -ENOMEM;
	err = regcomp(&ret->regex, whole, REG_EXTENDED);
	if (err != 0) {
		(void)regerror(err, &ret->regex, why, why_size);
		return err == REG_ESPACE ? -ENOMEM : -EINVAL;
	}
	ret->n_groups = ret->regex.re_nsub - 1;
	if (ret->n_groups + 2 <= RELABEL_GROUPS)
		return 0;
	regfree(&ret->regex);
	snprintf(why, why_size, "there are more than %d groups", RELABEL_GROUPS - 2);
	return -EINVAL;
}

void relabel_pattern_done(struct relabel_pattern *pattern)
{
	regfree(&pattern->regex);
}

bool relabel_pattern_match(const struct relabel_pattern *pattern, const char *text,
			   struct relabel_match *ret)
{
	ret->text = text;
	return regexec(&pattern->regex, text, RELABEL_GROUPS, ret->groups, 0) == 0;
}

/* The end of the number in $1 or ${1} at text[0] == '$'; 0: there is none, or it is part of a name. */
static size_t parse_group(const char *text, size_t *ret)
{
	bool is_braced = text[1] == '{';
	const char *begin = text + 1 + is_braced;
	size_t n = strspn(begin, "0123456789"), number = 0;

	if (n == 0 || n > 3 || (is_braced && begin[n] != '}') ||
	    (!is_braced && (isalnum((unsigned char)begin[n]) || begin[n] == '_')))
		return 0;
	for (size_t i = 0; i < n; i++)
		number = number * 10 + (size_t)(begin[i] - '0');
	*ret = number;
	return 1 + n + (is_braced ? 2 : 0);
}

const char *relabel_template_check(const char *text, size_t n_groups, size_t *ret_at)
{
	size_t number = 0;

	for (size_t i = 0; text[i]; i++) {
		*ret_at = i;
		if (text[i] != '$')
			continue;
		if (text[i + 1] == '$') {
			i++;
			continue;
		}
		if (parse_group(text + i, &number) == 0)
			return "a $ is followed by a group's number, such as $1, or ${1} before "
			       "letters; $$ is a dollar";
		if (number > n_groups)
			return "the regex has fewer groups";
	}
	return NULL;
}

static void write_group(const struct relabel_match *match, size_t number, FILE *to)
{
	const regmatch_t *group = &match->groups[number + 1];

	if (group->rm_so >= 0)
		fwrite(match->text + group->rm_so, 1, (size_t)(group->rm_eo - group->rm_so), to);
}

char *relabel_template_expand(const char *text, const struct relabel_match *match)
{
	char *expanded = NULL;
	size_t size, number = 0;
	FILE *to = open_memstream(&expanded, &size);

	if (!to)
		return NULL;
	while (*text) {
		size_t n = *text == '$' ? parse_group(text, &number) : 0;

		if (n > 0 && number + 1 < RELABEL_GROUPS)
			write_group(match, number, to);
		else
			fputc(*text, to);
		/* "$$" is one dollar. */
		text += n > 0 ? n : *text == '$' && text[1] == '$' ? 2 : 1;
	}
	if (fclose(to) == 0)
		return expanded;
	free(expanded);
	return NULL;
}
