// SPDX-License-Identifier: Apache-2.0
#include "cli/suggestion.h"

#include <string.h>

/* Longer words are nothing that anybody has mistyped. */
#define MAX_LENGTH 40

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * How many letters are missing, too many, wrong, or exchanged with the next: the optimal string
 * alignment distance (Damerau 1964). d[i][j] is that of the first i and j letters.
 */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t d[MAX_LENGTH + 1][MAX_LENGTH + 1];

	for (size_t i = 0; i <= n; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1,
					d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[n][m];
}

void suggestion_consider(struct suggestion *s, const char *word)
{
	size_t n = strlen(s->given), m = strlen(word), found;

	if (n > MAX_LENGTH || m > MAX_LENGTH)
		return;
	found = distance(s->given, n, word, m);
	/* A third of the letters may be wrong: `tp' is top, and `cat' is no command. */
	if (3 * found > (n > m ? n : m) || (s->word && found >= s->distance))
		return;
	s->word = word;
	s->distance = found;
}
