// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>

#include "expr.h"
#include "row.h"

/* The expressions that real unwind information contains, byte for byte, and where. */
Test(expr, knows_the_shapes_that_occur)
{
	static const struct {
		const char *where;
		uint8_t bytes[16];
		uint32_t size;
		struct cfi_expr expr;
	} cases[] = {
		{ "a PLT of ld.bfd and gold",
		  { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 },
		  11,
		  { CFI_EXPR_PLT, CFI_RSP, 8, 11 } },
		{ "a PLT made with -z bndplt",
		  { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22 },
		  11,
		  { CFI_EXPR_PLT, CFI_RSP, 8, 10 } },
		{ "a PLT made with -z ibtplt",
		  { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x39, 0x2a, 0x33, 0x24, 0x22 },
		  11,
		  { CFI_EXPR_PLT, CFI_RSP, 8, 9 } },
		{ "GCC's realigned stacks",
		  { 0x76, 0x58, 0x06 },
		  3,
		  { CFI_EXPR_DEREF, CFI_RBP, -40, 0 } },
		{ "OpenSSL",
		  { 0x77, 0x98, 0x01, 0x06, 0x23, 0x08 },
		  6,
		  { CFI_EXPR_DEREF, CFI_RSP, 152, 8 } },
		{ "libgcrypt",
		  { 0x77, 0x98, 0x84, 0x80, 0x00, 0x06, 0x23, 0xb8, 0x80, 0x80, 0x00 },
		  11,
		  { CFI_EXPR_DEREF, CFI_RSP, 536, 56 } },
		{ "glibc's __restore_rt",
		  { 0x77, 0xa0, 0x01, 0x06 },
		  4,
		  { CFI_EXPR_DEREF, CFI_RSP, 160, 0 } },
		{ "rbp of a realigned stack",
		  { 0x76, 0x00 },
		  2,
		  { CFI_EXPR_ADDRESS, CFI_RBP, 0, 0 } },
		/* not known: an index register in OpenSSL, sbcl, nothing, and parts of others */
		{ "OpenSSL's bn_mul_mont",
		  { 0x77, 0x08, 0x79, 0x00, 0x38, 0x1e, 0x22, 0x06, 0x23, 0x08 },
		  10,
		  { CFI_EXPR_OTHER } },
		{ "sbcl", { 0x76, 0x00, 0x06, 0x40, 0x22 }, 5, { CFI_EXPR_OTHER } },
		{ "nothing", { 0 }, 0, { CFI_EXPR_OTHER } },
		{ "half a register", { 0x77 }, 1, { CFI_EXPR_OTHER } },
		{ "half a PLT",
		  { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a },
		  8,
		  { CFI_EXPR_OTHER } },
		{ "a PLT with more behind it",
		  { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x96 },
		  12,
		  { CFI_EXPR_OTHER } },
		{ "a register that is not tracked", { 0x70 + 20, 0x00 }, 2, { CFI_EXPR_OTHER } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cfi_expr e = cfi_expr_classify(cases[i].bytes, cases[i].size);

		cr_assert(e.kind == cases[i].expr.kind, "%s: kind %d", cases[i].where, e.kind);
		if (e.kind == CFI_EXPR_OTHER)
			continue;
		cr_assert(e.reg == cases[i].expr.reg, "%s", cases[i].where);
		cr_assert(e.offset == cases[i].expr.offset, "%s", cases[i].where);
		cr_assert(e.add == cases[i].expr.add, "%s", cases[i].where);
	}
}
