// SPDX-License-Identifier: Apache-2.0
/*
 * Code of the baseline compiler. It does one bytecode after the other, and its table has how many bytes of
 * instructions each takes, in groups of 7 bits, after those of its entry
 * (src/baseline/bytecode-offset-iterator.h). How long bytecodes are, V8's file says. The first four are
 * prefixes, which double or quadruple the operands of the next one (src/interpreter/bytecodes.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "runtimes/v8/v8.h"

#define N_PREFIXES 4

/* False: the table is over. */
static bool read_size(struct v8_table *t, uint64_t *ret)
{
	*ret = 0;
	for (unsigned int shift = 0; t->at < t->size && shift < 32; shift += 7) {
		uint8_t byte = t->bytes[t->at++];

		*ret |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* The length of the bytecode at a place, with its prefix; 0: it has none that is known. */
static size_t length_at(const struct v8_reader *r, const struct v8_table *bytecode, size_t at)
{
	size_t prefix = bytecode->bytes[at] < N_PREFIXES, times = 0;
	uint8_t length;

	if (prefix)
		times = bytecode->bytes[at++] & 1 ? 3 : 1;
	if (at >= bytecode->size)
		return 0;
	length = r->at->bytecode_lengths[bytecode->bytes[at]];
	return length ? prefix + DP_V8_LENGTH(length) + times * DP_V8_N_SCALED(length) : 0;
}

int v8_baseline_find(const struct v8_reader *r, uint64_t bytecode, uint64_t table, uint64_t offset,
		     uint32_t *ret)
{
	_cleanup_(v8_table_done) struct v8_table sizes = { 0 }, bytes = { 0 };
	uint64_t end = 0, size;
	size_t next = 0, at = 0;
	int err = v8_bytes_read(r, table, r->at->array_data, &sizes);

	if (err == 0)
		err = v8_bytes_read(r, bytecode, r->at->bytecode_data, &bytes);
	if (err < 0)
		return err;
	if (!read_size(&sizes, &end) || offset < end)
		return -ENOENT;
	while (offset >= end) {
		size_t length = next < bytes.size ? length_at(r, &bytes, next) : 0;

		if (length == 0 || !read_size(&sizes, &size))
			return -ESTALE;
		at = next;
		next += length;
		end += size;
	}
	*ret = (uint32_t)at;
	return 0;
}
