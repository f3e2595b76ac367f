/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_TEXT_H
#define DP_BASE_TEXT_H

/*
 * Names of files, processes and functions are chosen by others and may contain any bytes. Text from
 * outside is made safe in place before it is printed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether both are the same text, or both are NULL. */
static inline bool text_is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/*
 * Returns the size of the UTF-8 character at the start of text, and its code point; 0 if the bytes
 * are not well-formed (Unicode, table 3-7: complete, shortest form, no surrogate). Reads nothing
 * behind a zero byte.
 */
static inline size_t text_character(const char *text, uint32_t *ret)
{
	static const uint32_t first[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *bytes = (const unsigned char *)text;
	size_t size = bytes[0] < 0x80 ? 1 :
		      bytes[0] < 0xc0 ? 0 :
		      bytes[0] < 0xe0 ? 2 :
		      bytes[0] < 0xf0 ? 3 :
		      bytes[0] < 0xf8 ? 4 :
					0;
	uint32_t c = size > 1 ? bytes[0] & (0x7fu >> size) : bytes[0];

	for (size_t i = 1; i < size; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (bytes[i] & 0x3fu);
	}
	if (size > 1 && (c < first[size] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)))
		return 0;
	*ret = c;
	return size;
}

/* Replaces every byte that is not part of a UTF-8 character by a question mark. */
static inline void text_make_utf8(char *text)
{
	while (*text) {
		uint32_t c;
		size_t size = text_character(text, &c);

		if (size == 0)
			*text = '?';
		text += size ? size : 1;
	}
}

/*
 * Control characters, ASCII's and Latin-1's, which a terminal interprets; ends of lines; and those
 * that change the order in which the rest of a line is shown (Unicode, UAX #9).
 */
static inline bool text_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Also replaces control characters. */
static inline void text_make_plain(char *text)
{
	while (*text) {
		uint32_t c;
		size_t size = text_character(text, &c);
		bool plain = size > 0 && !text_is_control(c);

		for (size_t i = 0; !plain && i < (size ? size : 1); i++)
			text[i] = '?';
		text += size ? size : 1;
	}
}

static inline bool text_is_plain(const char *text)
{
	for (uint32_t c; *text;) {
		size_t size = text_character(text, &c);

		if (size == 0 || text_is_control(c))
			return false;
		text += size;
	}
	return true;
}

/* Prints a plain copy. */
static inline void text_print_plain(FILE *to, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return;
	text_make_plain(copy);
	fputs(copy, to);
	free(copy);
}

/*
 * The path of a file, which is relative to a directory unless that is NULL: `file` itself, or *ret_made,
 * which the caller frees. NULL: there is no memory.
 */
static inline const char *text_path(const char *dir, const char *file, char **ret_made)
{
	*ret_made = NULL;
	if (!dir || *file == '/')
		return file;
	return asprintf(ret_made, "%s/%s", dir, file) < 0 ? NULL : *ret_made;
}

#endif
