/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_TEXT_H
#define DP_BASE_TEXT_H

/*
 * Names that others chose (of files, processes, functions) are any bytes. What
 * is put between our own words is made safe first, in place.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Size of the UTF-8 character that text starts with, and its number; 0 if the
 * bytes are none (Unicode, table 3-7: not cut short, the shortest form, no
 * surrogate). Looks at no byte behind a zero.
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

/* Make every byte that is no part of a UTF-8 character a question mark. */
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

/* The same, and the control characters, to which a terminal would listen: ASCII's and Latin-1's. */
static inline void text_make_plain(char *text)
{
	while (*text) {
		uint32_t c;
		size_t size = text_character(text, &c);
		bool plain = size > 0 && c >= 0x20 && (c < 0x7f || c > 0x9f);

		for (size_t i = 0; !plain && i < (size ? size : 1); i++)
			text[i] = '?';
		text += size ? size : 1;
	}
}

#endif
