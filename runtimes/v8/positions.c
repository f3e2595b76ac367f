// SPDX-License-Identifier: Apache-2.0
/*
 * Positions of bytecode. A BytecodeArray refers to its constants, to its table of handlers, and to its table
 * of source positions, in that order, or since V8 12 in the opposite one; the constants are in another
 * kind of array. The table has a difference of offsets, complemented where no statement begins, and one
 * of positions, each in groups of 7 bits (src/codegen/source-position-table.cc).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "runtimes/v8/v8.h"

/* The word behind the length that begins the three; there may be another one in front of them. */
#define MAX_BEFORE 2
/* The offset of a function's entry, from which the first difference is (kFunctionEntryBytecodeOffset). */
#define ENTRY (-1)

void v8_table_done(struct v8_table *t)
{
	free(t->bytes);
	*t = (struct v8_table){ 0 };
}

/* False: the table is over. */
static bool read_number(struct v8_table *t, int64_t *ret)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; t->at < t->size && shift < 63; shift += 7) {
		uint8_t byte = t->bytes[t->at++];

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		*ret = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
		return true;
	}
	return false;
}

bool v8_table_next(struct v8_table *t)
{
	int64_t change, more;

	if (!read_number(t, &change) || !read_number(t, &more))
		return false;
	change = change >= 0 ? change : -(change + 1);
	t->offset += change < UINT32_MAX ? change : UINT32_MAX;
	t->position += (uint64_t)more;
	return t->offset < UINT32_MAX;
}

int v8_bytes_read(const struct v8_reader *r, uint64_t object, uint32_t data, struct v8_table *ret)
{
	uint64_t word = 0;
	uint32_t size;
	int err = v8_word(r, object, r->at->array_length, &word);

	*ret = (struct v8_table){ 0 };
	if (err == 0)
		err = v8_smi(word, &size);
	if (err < 0 || size > V8_MAX_TABLE)
		return err < 0 ? err : -E2BIG;
	ret->bytes = malloc(size + 1);
	if (!ret->bytes)
		return -ENOMEM;
	ret->size = size;
	err = v8_read(r, object - DP_V8_OBJECT_TAG + data, ret->bytes, size);
	if (err < 0)
		v8_table_done(ret);
	return err;
}

int v8_table_read(const struct v8_reader *r, uint64_t object, struct v8_table *ret)
{
	int err = v8_bytes_read(r, object, r->at->array_data, ret);

	ret->offset = ENTRY;
	return err;
}

static int decode(struct v8_table *t, struct v8_position **ret, size_t *ret_n)
{
	_cleanup_free_ struct v8_position *list = NULL;
	size_t n = 0, size = 0;

	while (n < V8_MAX_POSITIONS && v8_table_next(t)) {
		uint32_t place = V8_PLACE(t->position);

		if (place == V8_NO_PLACE || (n > 0 && list[n - 1].place == place))
			continue;
		if (array_reserve(list, n, size) < 0)
			return -ENOMEM;
		list[n++] = (struct v8_position){ t->offset < 0 ? 0 : (uint32_t)t->offset, place };
	}
	*ret = steal_ptr(list);
	*ret_n = n;
	return 0;
}

bool v8_is_bytes(const struct v8_reader *r, uint16_t type)
{
	return type == r->at->type_bytes || type == r->at->type_trusted_bytes;
}

bool v8_is_array(const struct v8_reader *r, uint16_t type)
{
	return type == r->at->type_array || type == r->at->type_trusted_array ||
	       type == r->at->type_protected_array;
}

/* Finds the table of source positions of a BytecodeArray. */
static int find_table(const struct v8_reader *r, uint64_t bytecode, uint64_t *ret)
{
	for (uint32_t i = 0; i < MAX_BEFORE; i++) {
		uint32_t at = r->at->array_length + (i + 1) * (uint32_t)sizeof(uint64_t);
		uint64_t words[3];
		uint16_t types[3] = { 0 };
		int err = v8_read(r, bytecode - DP_V8_OBJECT_TAG + at, words, sizeof(words));

		for (size_t j = 0; j < 3 && err == 0; j++)
			err = v8_type(r, words[j], &types[j]);
		if (err == 0 && v8_is_bytes(r, types[1]) && v8_is_array(r, types[0]) &&
		    v8_is_bytes(r, types[2])) {
			*ret = words[2];
			return 0;
		}
		if (err == 0 && v8_is_bytes(r, types[1]) && v8_is_bytes(r, types[0]) &&
		    v8_is_array(r, types[2])) {
			*ret = words[0];
			return 0;
		}
	}
	return -ESTALE;
}

/* The BytecodeArray that a word refers to, or the first member of an InterpreterData. */
static int bytecode_of(const struct v8_reader *r, uint64_t word, uint64_t *ret)
{
	uint16_t type;
	int err = v8_type(r, word, &type);

	*ret = word;
	if (err == 0 && type == r->at->type_interpreter_data)
		return v8_member(r, word, r->at->map + (uint32_t)sizeof(word), r->at->type_bytecode,
				 ret);
	return err == 0 && type != r->at->type_bytecode ? -ESTALE : err;
}

int v8_bytecode(const struct v8_reader *r, uint64_t data, uint64_t *ret)
{
	uint64_t word;
	uint16_t type;
	int err = v8_type(r, data, &type);

	if (err < 0 || type != r->at->type_code)
		return err < 0 ? err : bytecode_of(r, data, ret);
	for (uint32_t i = 1; i <= V8_MAX_MEMBERS; i++) {
		err = v8_word(r, data, r->at->map + i * (uint32_t)sizeof(word), &word);
		if (err < 0)
			return err;
		if (bytecode_of(r, word, ret) == 0)
			return 0;
	}
	return -ESTALE;
}

int v8_positions_read(const struct v8_reader *r, uint64_t data, struct v8_position **ret,
		      size_t *ret_n)
{
	struct v8_table t;
	uint64_t bytecode, table = 0;
	int err = v8_bytecode(r, data, &bytecode);

	if (err == 0)
		err = find_table(r, bytecode, &table);
	if (err == 0)
		err = v8_table_read(r, table, &t);
	if (err < 0)
		return err;
	err = decode(&t, ret, ret_n);
	v8_table_done(&t);
	return err;
}
