// SPDX-License-Identifier: Apache-2.0
/* Words, objects and strings of V8's heap. */
#include <errno.h>
#include <string.h>

#include "limits/limits.h"
#include "runtimes/v8/v8.h"

/* The strings that are still to be appended, the next one last. */
struct pieces {
	uint64_t waiting[V8_MAX_WAITING];
	size_t n;
	char *to; /* RUNTIME_NAME_SIZE */
	size_t at;
};

int v8_read(const struct v8_reader *r, uint64_t address, void *ret, size_t size)
{
	return r->memory->read(r->memory->arg, ret, size, address);
}

static bool is_object(uint64_t word)
{
	return (word & DP_V8_TAG_MASK) == DP_V8_OBJECT_TAG;
}

int v8_word(const struct v8_reader *r, uint64_t object, uint32_t offset, uint64_t *ret)
{
	return v8_read(r, object - DP_V8_OBJECT_TAG + offset, ret, sizeof(*ret));
}

int v8_type(const struct v8_reader *r, uint64_t object, uint16_t *ret)
{
	uint64_t map;
	int err = is_object(object) ? v8_word(r, object, r->at->map, &map) : -ESTALE;

	if (err == 0 && !is_object(map))
		err = -ESTALE;
	if (err < 0)
		return err;
	return v8_read(r, map - DP_V8_OBJECT_TAG + r->at->instance_type, ret, sizeof(*ret));
}

int v8_member(const struct v8_reader *r, uint64_t object, uint32_t offset, uint16_t type,
	      uint64_t *ret)
{
	uint16_t found;
	int err = v8_word(r, object, offset, ret);

	if (err == 0)
		err = v8_type(r, *ret, &found);
	return err == 0 && found != type ? -ESTALE : err;
}

int v8_smi(uint64_t word, uint32_t *ret)
{
	if ((word & UINT32_MAX) != 0 || word >> 63 != 0)
		return -ESTALE;
	*ret = (uint32_t)(word >> DP_V8_SMI_SHIFT);
	return 0;
}

/* Appends a character as UTF-8. False: there is no room. */
static bool put_character(struct pieces *p, uint32_t c)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t heads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	uint8_t bytes[4];

	if (p->at + n >= RUNTIME_NAME_SIZE)
		return false;
	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		bytes[i] = (uint8_t)(0x80 | (c & 0x3f));
	bytes[0] = (uint8_t)(heads[n] | c);
	memcpy(p->to + p->at, bytes, n);
	p->at += n;
	return true;
}

static bool is_half(uint32_t c, uint32_t first)
{
	return c >= first && c < first + 0x400;
}

/* Appends n characters of UTF-16. A half without its other half is a question mark. */
static void put_wide(struct pieces *p, const uint16_t *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t c = text[i];

		if (is_half(c, 0xd800) && i + 1 < n && is_half(text[i + 1], 0xdc00))
			c = 0x10000 + ((c - 0xd800) << 10) + (text[++i] - 0xdc00U);
		else if (is_half(c, 0xd800) || is_half(c, 0xdc00))
			c = '?';
		if (!put_character(p, c))
			return;
	}
}

/* Appends n characters of a string that has its text itself, from `start` on. */
static int put_text(const struct v8_reader *r, struct pieces *p, uint64_t string, uint16_t type,
		    uint32_t start, uint32_t n)
{
	bool is_narrow = (type & r->at->encoding_mask) == r->at->one_byte;
	uint64_t text = string - DP_V8_OBJECT_TAG +
			(is_narrow ? r->at->one_byte_chars : r->at->two_byte_chars);
	union {
		uint8_t narrow[RUNTIME_NAME_SIZE];
		uint16_t wide[RUNTIME_NAME_SIZE];
	} u;
	int err;

	n = n < RUNTIME_NAME_SIZE ? n : RUNTIME_NAME_SIZE;
	if (!is_narrow) {
		err = v8_read(r, text + 2 * (uint64_t)start, u.wide, n * sizeof(*u.wide));
		if (err == 0)
			put_wide(p, u.wide, n);
		return err;
	}
	err = v8_read(r, text + start, u.narrow, n);
	for (uint32_t i = 0; err == 0 && i < n && put_character(p, u.narrow[i]); i++)
		;
	return err;
}

static int read_length(const struct v8_reader *r, uint64_t string, uint32_t *ret)
{
	return v8_read(r, string - DP_V8_OBJECT_TAG + r->at->string_length, ret, sizeof(*ret));
}

/* A part of another string, which has its text itself. */
static int put_slice(const struct v8_reader *r, struct pieces *p, uint64_t string)
{
	uint64_t parent, word;
	uint32_t start, length, n;
	uint16_t type;
	int err = v8_word(r, string, r->at->sliced_parent, &parent);

	if (err == 0)
		err = v8_word(r, string, r->at->sliced_offset, &word);
	if (err == 0)
		err = v8_smi(word, &start);
	if (err == 0)
		err = read_length(r, string, &n);
	if (err == 0)
		err = v8_type(r, parent, &type);
	if (err == 0)
		err = read_length(r, parent, &length);
	if (err < 0)
		return err;
	if (type >= r->at->first_nonstring ||
	    (type & r->at->representation_mask) != r->at->sequential || start > length ||
	    n > length - start)
		return -ESTALE;
	return put_text(r, p, parent, type, start, n);
}

static int wait_for(const struct v8_reader *r, struct pieces *p, uint64_t string, uint32_t member)
{
	uint64_t piece;
	int err = v8_word(r, string, member, &piece);

	if (err < 0)
		return err;
	if (p->n >= V8_MAX_WAITING)
		return -ESTALE;
	p->waiting[p->n++] = piece;
	return 0;
}

static int put_piece(const struct v8_reader *r, struct pieces *p, uint64_t string)
{
	const struct dp_v8_names *at = r->at;
	uint16_t type, kind;
	uint32_t n;
	int err = v8_type(r, string, &type);

	if (err < 0)
		return err;
	kind = type & at->representation_mask;
	if (type >= at->first_nonstring)
		return -ESTALE;
	if (kind == at->sliced)
		return put_slice(r, p, string);
	if (kind == at->thin)
		return wait_for(r, p, string, at->thin_actual);
	if (kind == at->cons)
		return wait_for(r, p, string, at->cons_second) ?:
			       wait_for(r, p, string, at->cons_first);
	if (kind != at->sequential)
		return -ESTALE;
	err = read_length(r, string, &n);
	return err < 0 ? err : put_text(r, p, string, type, 0, n);
}

int v8_string(const struct v8_reader *r, uint64_t object, char ret[RUNTIME_NAME_SIZE])
{
	struct pieces p = { .waiting = { object }, .n = 1, .to = ret };
	size_t n_read = 0;
	int err = 0;

	while (p.n > 0 && err == 0 && p.at < RUNTIME_NAME_SIZE - 4) {
		uint64_t piece = p.waiting[--p.n];

		err = n_read++ < V8_MAX_PIECES ? put_piece(r, &p, piece) : -ESTALE;
	}
	ret[p.at] = '\0';
	return err;
}
