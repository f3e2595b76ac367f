// SPDX-License-Identifier: Apache-2.0
#include "tables/x86_64/pattern.h"

static unsigned int hex_digit(char c)
{
	return (unsigned int)(c <= '9' ? c - '0' : c - 'a' + 10);
}

size_t pattern_match(const uint8_t *bytes, uint64_t size, const char *pattern)
{
	size_t n = 0;

	for (; *pattern; pattern++) {
		if (*pattern == ' ')
			continue;
		if (n == size || (*pattern != '?' &&
				  bytes[n] != hex_digit(pattern[0]) * 16 + hex_digit(pattern[1])))
			return 0;
		n++;
		pattern++;
	}
	return n;
}

size_t pattern_match_any(const uint8_t *bytes, uint64_t size, const char *const *patterns, size_t n)
{
	size_t length = 0;

	for (size_t i = 0; i < n && length == 0; i++)
		length = pattern_match(bytes, size, patterns[i]);
	return length;
}
