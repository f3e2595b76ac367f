/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_BYTES_H
#define DP_REPORT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "limits/limits.h"

/*
 * Numbers and texts to bytes and back, for the recording. A number is a varint: seven bits per
 * byte, lowest first; the highest bit means that more follow. A signed number has the sign in its
 * lowest bit (zigzag). A text is its length and its bytes.
 */

/* Bytes being written. If memory runs out, `failed` is set and the rest ignored. */
struct bytes {
	uint8_t *data;
	size_t size, room;
	bool failed;
};

static inline void bytes_done(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){ 0 };
}

static inline void bytes_put(struct bytes *b, const void *data, size_t size)
{
	if (b->failed)
		return;
	if (size > b->room - b->size) {
		size_t room = 2 * b->size + size + 256;
		uint8_t *grown = realloc(b->data, room);

		if (!grown) {
			b->failed = true;
			return;
		}
		b->data = grown;
		b->room = room;
	}
	if (size > 0)
		memcpy(b->data + b->size, data, size);
	b->size += size;
}

static inline void bytes_put_number(struct bytes *b, uint64_t value)
{
	uint8_t text[10];
	size_t n = 0;

	do {
		text[n++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value > 0);
	bytes_put(b, text, n);
}

static inline void bytes_put_signed(struct bytes *b, int64_t value)
{
	bytes_put_number(b, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static inline void bytes_put_text(struct bytes *b, const char *text)
{
	size_t size = strlen(text);

	if (size > BYTES_MAX_TEXT)
		size = BYTES_MAX_TEXT;
	bytes_put_number(b, size);
	bytes_put(b, text, size);
}

/* Bytes being read. Missing ones read as 0 or "", and set `failed`. */
struct view {
	const uint8_t *pos, *end;
	bool failed;
};

static inline bool view_is_empty(const struct view *v)
{
	return v->pos == v->end;
}

static inline uint64_t view_number(struct view *v)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; v->pos < v->end && shift < 64; shift += 7) {
		uint8_t byte = *v->pos++;

		/* The tenth byte has room for one bit. */
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	v->failed = true;
	v->pos = v->end;
	return 0;
}

static inline int64_t view_signed(struct view *v)
{
	uint64_t value = view_number(v);

	return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

/* The next `size` bytes, as a view of their own. */
static inline struct view view_part(struct view *v, uint64_t size)
{
	struct view part = { .pos = v->pos, .end = v->pos };

	if (size > (uint64_t)(v->end - v->pos)) {
		v->failed = part.failed = true;
		v->pos = v->end;
		return part;
	}
	v->pos += size;
	part.end = v->pos;
	return part;
}

/* A number that must be less than `limit`. */
static inline uint64_t view_below(struct view *v, uint64_t limit)
{
	uint64_t value = view_number(v);

	if (value < limit)
		return value;
	v->failed = true;
	return 0;
}

/* Reads a text, cut to `size` bytes with its terminator, and at an embedded zero. */
static inline void view_text(struct view *v, char *ret, size_t size)
{
	struct view text = view_part(v, view_number(v));
	size_t n = (size_t)(text.end - text.pos);

	n = n < size ? n : size - 1;
	if (n > 0)
		memcpy(ret, text.pos, n);
	ret[n] = '\0';
}

/* The same as a new string; NULL: out of memory. */
static inline char *view_new_text(struct view *v)
{
	struct view text = view_part(v, view_number(v));

	return strndup(text.pos == text.end ? "" : (const char *)text.pos,
		       (size_t)(text.end - text.pos));
}

#endif
