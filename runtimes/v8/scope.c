// SPDX-License-Identifier: Apache-2.0
/*
 * ScopeInfo: words after its map. After the names of variables and a word for each of them follow
 * (src/objects/scope-info.tq):
 *
 *     [number] [name of the function, number] [inferred name or undefined] [start, end] outer scope
 *
 * Which are there, is in bits that versions arrange differently. But names are strings, and the outer
 * scope is neither a string nor a number. Since V8 13, `start` and `end` are in front of the variables.
 */
#include <errno.h>
#include <string.h>

#include "limits/limits.h"
#include "runtimes/v8/v8.h"

/* What follows the variables up to the outer scope has no more words. */
#define MAX_WORDS 8

static int read_word(const struct v8_reader *r, uint64_t scope, uint32_t number, uint64_t *ret)
{
	return v8_word(r, scope, r->at->map + (number + 1) * (uint32_t)sizeof(*ret), ret);
}

static bool is_string(const struct v8_reader *r, uint64_t word)
{
	uint16_t type;

	return v8_type(r, word, &type) == 0 && type < r->at->first_nonstring;
}

static int read_number(const struct v8_reader *r, uint64_t scope, uint32_t number, uint32_t *ret)
{
	uint64_t word;
	int err = read_word(r, scope, number, &word);

	return err < 0 ? err : v8_smi(word, ret);
}

/* The number of the first word behind the variables. Many names are in an object of their own. */
static int find_end_of_locals(const struct v8_reader *r, uint64_t scope, uint32_t *ret)
{
	uint32_t n, first = r->at->first_local;
	uint64_t word;
	int err = read_number(r, scope, r->at->n_locals, &n);

	if (err == 0 && n > V8_MAX_LOCALS)
		err = -ESTALE;
	if (err == 0)
		err = read_word(r, scope, first, &word);
	if (err < 0)
		return err;
	*ret = first + n;
	if (n > 0)
		*ret += is_string(r, word) ? n : 1;
	return 0;
}

static void set_range(struct v8_scope *s, uint32_t start, uint32_t end)
{
	if (start >= end)
		return;
	s->start = start;
	s->end = end;
}

/* True if the word may be in front of the outer scope. */
static bool may_precede(const struct v8_reader *r, uint64_t word, bool has_numbers)
{
	uint16_t type;

	return !has_numbers && v8_type(r, word, &type) == 0 && type == r->at->type_oddball;
}

/* Reads what is between the variables and the outer scope. */
static int read_rest(const struct v8_reader *r, uint64_t scope, uint32_t at, struct v8_scope *ret)
{
	uint32_t numbers[2] = { 0 }, n_numbers = 0;
	uint64_t word;

	for (uint32_t i = 0; i < MAX_WORDS; i++) {
		int err = read_word(r, scope, at + i, &word);

		if (err < 0)
			return err;
		if ((word & DP_V8_TAG_MASK) != DP_V8_OBJECT_TAG) {
			numbers[0] = numbers[1];
			numbers[1] = (uint32_t)(word >> DP_V8_SMI_SHIFT);
			n_numbers++;
			continue;
		}
		if (is_string(r, word) && ret->name[0] == '\0')
			err = v8_string(r, word, ret->name);
		else if (!is_string(r, word) && !may_precede(r, word, n_numbers > 1))
			break;
		if (err < 0)
			return err;
		n_numbers = 0;
	}
	if (n_numbers >= 2 && ret->end == 0)
		set_range(ret, numbers[0], numbers[1]);
	return 0;
}

int v8_scope(const struct v8_reader *r, uint64_t object, struct v8_scope *ret)
{
	uint32_t at = 0, start, end, first = r->at->first_local;
	uint16_t type;
	int err = v8_type(r, object, &type);

	memset(ret, 0, sizeof(*ret));
	if (err == 0 && type != r->at->type_scope_info)
		err = -ESTALE;
	if (err == 0)
		err = find_end_of_locals(r, object, &at);
	/* Two words more than the number of variables: start and end. */
	if (err == 0 && first == r->at->n_locals + 3U &&
	    read_number(r, object, first - 2, &start) == 0 &&
	    read_number(r, object, first - 1, &end) == 0)
		set_range(ret, start, end);
	return err < 0 ? err : read_rest(r, object, at, ret);
}
