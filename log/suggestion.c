// SPDX-License-Identifier: Apache-2.0
#include "log/suggestion.h"

#include <string.h>

/* Longer words are nothing that anybody has mistyped. */
#define MAX_LENGTH 100

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * How many letters are missing, too many, wrong, or exchanged with the next: the optimal string
 * alignment distance (Damerau 1964). row[i % 3][j] is that of the first i and j letters. More than
 * `limit` if it is above.
 */
static size_t distance(const char *a, size_t n, const char *b, size_t m, size_t limit)
{
	size_t row[3][MAX_LENGTH + 1];

	for (size_t j = 0; j <= m; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *d = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
		size_t lowest = d[0] = i;

		for (size_t j = 1; j <= m; j++) {
			d[j] = least(least(last[j], d[j - 1]) + 1,
				     last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[j] = least(d[j], before[j - 2] + 1);
			lowest = least(lowest, d[j]);
		}
		if (lowest > limit)
			return lowest;
	}
	return row[n % 3][m];
}

void suggestion_consider(struct suggestion *s, const char *word)
{
	size_t n = strlen(s->given), m = strlen(word), found;
	/* A third of the letters may be wrong: `tp' is top, and `cat' is no command. */
	size_t limit = (n > m ? n : m) / 3;

	if (n > MAX_LENGTH || m > MAX_LENGTH || (n > m ? n - m : m - n) > limit)
		return;
	found = distance(s->given, n, word, m, limit);
	if (found > limit || (s->word && found >= s->distance))
		return;
	s->word = word;
	s->distance = found;
}
