// SPDX-License-Identifier: Apache-2.0
/* Lines of a script: from its list of their ends, which V8 makes when it needs it, or its text. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "limits/limits.h"
#include "runtimes/v8/v8.h"

#define CHUNK 4096
/* They, too, end lines of JavaScript (ECMA-262, 12.3). */
#define LINE_SEPARATOR 0x2028
#define PARAGRAPH_SEPARATOR 0x2029

void v8_lines_done(struct v8_lines *lines)
{
	free(lines->ends);
	*lines = (struct v8_lines){ 0 };
}

uint32_t v8_lines_find(const struct v8_lines *lines, uint32_t place, uint32_t *ret_column)
{
	uint32_t start = lines->start;
	size_t lo = 0, hi = lines->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (lines->ends[mid] < place)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo > 0)
		start = lines->ends[lo - 1] + 1;
	*ret_column = place < start ? 0 : place - start + 1;
	return lines->first + (uint32_t)lo;
}

static int add_end(struct v8_lines *lines, uint32_t place)
{
	if (lines->n >= V8_MAX_LINES)
		return -E2BIG;
	if (array_reserve(lines->ends, lines->n, lines->size) < 0)
		return -ENOMEM;
	lines->ends[lines->n++] = place;
	return 0;
}

static int read_end(const struct v8_reader *r, uint64_t array, uint32_t i, uint32_t *ret)
{
	uint64_t word;
	int err = v8_word(r, array, r->at->array_data + i * (uint32_t)sizeof(word), &word);

	return err < 0 ? err : v8_smi(word, ret);
}

/* From the list of the ends of lines. */
static int read_list(const struct v8_reader *r, uint64_t array, uint32_t start, uint32_t end,
		     struct v8_lines *ret)
{
	uint32_t n, lo = 0, hi, place = 0;
	uint64_t word;
	int err = v8_word(r, array, r->at->array_length, &word);

	if (err == 0)
		err = v8_smi(word, &n);
	if (err < 0 || n > UINT32_MAX / sizeof(word))
		return err < 0 ? err : -ESTALE;
	for (hi = n; lo < hi && err == 0;) {
		uint32_t mid = lo + (hi - lo) / 2;

		err = read_end(r, array, mid, &place);
		if (place < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	ret->first = lo + 1;
	if (lo > 0 && err == 0) {
		err = read_end(r, array, lo - 1, &place);
		ret->start = place + 1;
	}
	for (; lo < n && err == 0; lo++) {
		err = read_end(r, array, lo, &place);
		if (err == 0 && place >= end)
			break;
		if (err == 0)
			err = add_end(ret, place);
	}
	return err;
}

static int note_end(struct v8_lines *lines, uint32_t place, uint32_t start)
{
	if (place >= start)
		return add_end(lines, place);
	lines->first++;
	lines->start = place + 1;
	return 0;
}

/*
 * Counts the ends of lines in a part of the text that begins at `from`, as V8 does: of "\r\n", the second
 * is one. *was_return: the character in front of the part is a '\r'.
 */
static int count_ends(struct v8_lines *lines, const uint8_t *narrow, const uint16_t *wide,
		      uint32_t n, uint32_t from, uint32_t start, bool *was_return)
{
	int err = 0;

	for (uint32_t i = 0; i < n && err == 0; i++) {
		uint32_t c = narrow ? narrow[i] : wide[i];

		if (*was_return && c != '\n')
			err = note_end(lines, from + i - 1, start);
		*was_return = c == '\r';
		if (err == 0 && (c == '\n' || c == LINE_SEPARATOR || c == PARAGRAPH_SEPARATOR))
			err = note_end(lines, from + i, start);
	}
	return err;
}

/* From the text, if that is in one piece. */
static int read_text(const struct v8_reader *r, uint64_t text, uint32_t start, uint32_t end,
		     struct v8_lines *ret)
{
	const struct dp_v8_names *at = r->at;
	uint16_t type;
	uint32_t length;
	int err = v8_type(r, text, &type);
	bool is_narrow = (type & at->encoding_mask) == at->one_byte, was_return = false;
	uint64_t from =
		text - DP_V8_OBJECT_TAG + (is_narrow ? at->one_byte_chars : at->two_byte_chars);

	if (err == 0 &&
	    (type >= at->first_nonstring || (type & at->representation_mask) != at->sequential))
		err = -ESTALE;
	if (err == 0)
		err = v8_read(r, text - DP_V8_OBJECT_TAG + at->string_length, &length,
			      sizeof(length));
	if (err == 0 && (end > length || end > V8_MAX_TEXT))
		err = -E2BIG;
	ret->first = 1;
	for (uint32_t i = 0; i < end && err == 0; i += CHUNK) {
		uint32_t n = end - i < CHUNK ? end - i : CHUNK;
		union {
			uint8_t narrow[CHUNK];
			uint16_t wide[CHUNK];
		} u;

		err = v8_read(r, from + (is_narrow ? 1 : 2) * (uint64_t)i, &u,
			      n * (is_narrow ? sizeof(*u.narrow) : sizeof(*u.wide)));
		if (err == 0)
			err = count_ends(ret, is_narrow ? u.narrow : NULL, u.wide, n, i, start,
					 &was_return);
	}
	return err;
}

int v8_lines_read(const struct v8_reader *r, uint64_t script, uint32_t start, uint32_t end,
		  struct v8_lines *ret)
{
	uint64_t object;
	int err;

	*ret = (struct v8_lines){ 0 };
	if (v8_member(r, script, r->at->script_line_ends, r->at->type_array, &object) == 0) {
		err = read_list(r, object, start, end, ret);
	} else {
		err = v8_word(r, script, r->at->script_source, &object);
		if (err == 0)
			err = read_text(r, object, start, end, ret);
	}
	if (err < 0)
		v8_lines_done(ret);
	return err;
}
