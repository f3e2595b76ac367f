// SPDX-License-Identifier: Apache-2.0
/* Whoever wrote them may have been taken over by the file that it read. */
#include "symbols/jit_pieces.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct jit_pieces honest(void)
{
	struct jit_pieces pieces = { .demangles = true };
	char name[] = "_ZN1a1bEv", files[] = "a.js";
	struct jit_line lines[] = { { 0, 7, 0 }, { 8, 8, 0 } };
	struct jit_code code = { name, 16, lines, 2, files, sizeof(files), false };

	cr_assert_eq(jit_pieces_add(&pieces, &code, 0x1000, 5), 0);
	cr_assert_eq(jit_pieces_move(&pieces, 0x1000, 0x2000, 6), 0);
	return pieces;
}

Test(jit_pieces, arrive_as_they_were_written)
{
	struct jit_pieces pieces = honest();
	struct jit_index index = { 0 };
	uint64_t offset;

	cr_assert_eq(jit_pieces_place(&pieces, SIZE_MAX, &index), 0);
	cr_assert_eq(jit_index_find(&index, 0x2008, 6, &offset), 0);
	cr_assert_eq(offset, 8);
	cr_assert_str_eq(index.codes[0].name, "a::b");
	cr_assert(index.codes[0].is_demangled);
	cr_assert_eq(index.codes[0].lines[1].line, 8);
	cr_assert_str_eq(index.codes[0].files, "a.js");
	jit_index_done(&index);
	jit_pieces_done(&pieces);
}

Test(jit_pieces, are_whole)
{
	struct jit_pieces pieces = honest();
	size_t n = pieces.n, n_good = 0;

	for (pieces.n = 0; pieces.n <= n; pieces.n++) {
		struct jit_index index = { 0 };
		int err = jit_pieces_place(&pieces, SIZE_MAX, &index);

		cr_assert(err == 0 || err == -EPROTO);
		n_good += err == 0;
		jit_index_done(&index);
	}
	cr_assert_eq(n_good, 3, "none, one or both of them");
	jit_pieces_done(&pieces);
}

/* Whatever their number: one that was taken over says more than any file. */
Test(jit_pieces, stop_where_memory_ends)
{
	struct jit_pieces pieces = honest();
	struct jit_index index = { 0 };
	size_t limit, n;

	cr_assert_eq(jit_pieces_place(&pieces, SIZE_MAX, &index), 0);
	limit = index.memory;
	jit_index_done(&index);
	cr_assert_eq(jit_pieces_place(&pieces, limit, &index), 0);
	jit_index_done(&index);
	for (size_t i = 0; i < 100; i++) {
		char name[] = "x";
		struct jit_code code = { .name = name, .size = 1 };

		cr_assert_eq(jit_pieces_add(&pieces, &code, 0x3000 + i, 7), 0);
	}
	cr_assert_eq(jit_pieces_place(&pieces, limit, &index), -E2BIG);
	n = index.n_codes;
	cr_assert_eq(n, 2, "%zu", n);
	jit_index_done(&index);
	jit_pieces_done(&pieces);
}

/* Each byte in turn: whatever is accepted can be read. */
Test(jit_pieces, may_be_any_bytes)
{
	const uint8_t values[] = { 0, 1, 2, sizeof("a.js"), 0x7f, 0xff };
	size_t n_refused = 0;

	for (size_t i = 0; i < 200; i++) {
		for (size_t j = 0; j < sizeof(values); j++) {
			struct jit_pieces pieces = honest();
			struct jit_index index = { 0 };
			int err;

			if (i >= pieces.n) {
				jit_pieces_done(&pieces);
				return;
			}
			pieces.bytes[i] = values[j];
			err = jit_pieces_place(&pieces, SIZE_MAX, &index);
			cr_assert(err == 0 || err == -EPROTO);
			n_refused += err < 0;
			for (size_t k = 0; k < index.n_codes; k++) {
				const struct jit_code *code = &index.codes[k];

				cr_assert(strlen(code->name) < pieces.n);
				for (size_t l = 0; l < code->n_lines; l++) {
					cr_assert_lt(code->lines[l].file, code->files_size);
					cr_assert(strlen(code->files + code->lines[l].file) <
						  pieces.n);
				}
			}
			jit_index_done(&index);
			jit_pieces_done(&pieces);
		}
	}
	cr_assert(n_refused > 0);
}
