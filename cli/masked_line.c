// SPDX-License-Identifier: Apache-2.0
#include "cli/masked_line.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"

#define HEADER "header"

/* Options may be shortened, and have their value in the same word. */
static bool is_header(const char *word, const char **ret_value)
{
	size_t n = strcspn(word, "=");

	if (n < 3 || strncmp(word, "--", 2) != 0 || strncmp(word + 2, HEADER, n - 2) != 0)
		return false;
	*ret_value = word[n] ? word + n + 1 : NULL;
	return true;
}

/* The header's name stays. */
static char *mask_header(const char *word, const char *value)
{
	const char *colon = strchr(value, ':');
	char *text;

	if (asprintf(&text, "%.*s%s" SECRET_MASK, (int)((colon ? colon : value) - word), word,
		     colon ? ": " : "") < 0)
		return NULL;
	return text;
}

static char *mask(const char *word, bool follows_header)
{
	const char *value;

	if (follows_header)
		return mask_header(word, word);
	if (is_header(word, &value))
		return value ? mask_header(word, value) : strdup(word);
	return strstr(word, "://") ? secret_mask_url(word) : strdup(word);
}

char **masked_line_new(char **words)
{
	bool follows_header = false;
	size_t n = 0;
	char **line;

	while (words[n])
		n++;
	line = calloc(n + 1, sizeof(*line));
	for (size_t i = 0; line && i < n; i++) {
		const char *value;

		line[i] = mask(words[i], follows_header);
		if (!line[i])
			return masked_line_free(line);
		follows_header = !follows_header && is_header(words[i], &value) && !value;
	}
	return line;
}

char **masked_line_free(char **line)
{
	for (size_t i = 0; line && line[i]; i++)
		free(line[i]);
	free(line);
	return NULL;
}
