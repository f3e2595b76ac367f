// SPDX-License-Identifier: Apache-2.0
/*
 * Functions of crtbegin.o by several compilers, damaged, and random combinations of their
 * instructions; every path of what is accepted is executed.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tables/x86_64/crt_function.h"

#define BASE UINT64_C(0x401000)

static uint8_t bytes[1024];

/* Code from hex digits; the rest is int3. */
static struct code_range assemble(const char *hex)
{
	struct code_range range = { .address = BASE, .bytes = bytes };
	unsigned int byte;
	int n;

	memset(bytes, 0xcc, sizeof(bytes));
	for (; sscanf(hex, " %2x%n", &byte, &n) == 1; hex += n)
		bytes[range.size++] = (uint8_t)byte;
	return range;
}

/*
 * For how many bytes from `start` on only the return address (c) is on the stack, or rbp too (p).
 */
static void expect_at(const struct code_range *range, uint64_t start, const char *rules)
{
	char found[256] = { 0 };
	struct known_code code;
	uint64_t end = start;

	if (crt_function_find(range, start, range->address + range->size, &code)) {
		cr_assert(code.n_rows > 0 && code.n_rows <= KNOWN_MAX_ROWS);
		for (size_t i = 0; i < code.n_rows; i++) {
			const struct known_row *r = &code.rows[i];
			size_t length = strlen(found);

			cr_assert(r->start == end && r->start < r->end);
			cr_assert(r->cfa_reg == DP_REG_SP &&
				  r->cfa_offset == (r->fp_saved ? 16 : 8));
			cr_assert(!r->signal && !r->clone);
			snprintf(found + length, sizeof(found) - length, "%s%c%lu",
				 i > 0 ? " " : "", r->fp_saved ? 'p' : 'c', r->end - r->start);
			end = r->end;
		}
	}
	cr_assert_str_eq(found, rules);
}

static void expect(const char *hex, const char *rules)
{
	struct code_range range = assemble(hex);

	expect_at(&range, BASE, rules);
}

/* gcc 12, with and without position-independent code */
static const char deregister[] =
	"488d3d61100000 488d055a100000 4839f8 7415 488b0516ec1200 4885c0 7409 ffe0"
	"0f1f8000000000 c3";
static const char register_fixed[] =
	"be78c93c02 4881ee78c93c02 4889f0 48c1ee3f 48c1f803 4801c6 48d1fe 7411"
	"b800000000 4885c0 7407 bf78c93c02 ffe0 c3";
static const char dtors[] =
	"f30f1efa 803d2510130000 752b 55 48833dfaeb120000 4889e5 740c 488b3d2efd1200"
	"e871feffff e864ffffff c605fd0f130001 5d c3 0f1f00 c3";

Test(crt_function, knows_what_gcc_12_makes)
{
	expect(deregister, "c41");
	expect(register_fixed, "c49");
	expect(dtors, "c14 p38 c5");
}

/* Older compilers set up frames that these functions do not need. */
Test(crt_function, knows_what_older_ones_made)
{
	/* gcc 7: deregister_tm_clones() */
	expect("488d3d61100000 55 488d055a100000 4839f8 4889e5 7419 488b0516ec1200 4885c0 740d 5d ffe0"
	       "662e0f1f840000000000 5d c3",
	       "c8 p28 c12 p1 c1");
	/* gcc 4.8: register_tm_clones(), which jumps back to where it leaves its frame */
	expect("488d0591582000 488d3d8a582000 55 4829f8 4889e5 48c1f803 4889c2 48c1ea3f 4801d0 48d1f8 7502 5d c3"
	       "488b15cf562000 4885d2 74f2 5d 4889c6 ffe2",
	       "c15 p26 c1 p13 c5");
	/* and __do_global_dtors_aux() */
	expect("803d590b200000 7511 55 4889e5 e87effffff 5d c605460b200001 f3c3", "c10 p9 c9");
}

Test(crt_function, follows_what_only_leaves_for_another_one)
{
	/* register_tm_clones(), padding, and two frame_dummy() */
	struct code_range range =
		assemble("488d0591582000 c3 0f1f8000000000 90 f30f1efa e9e7ffffff");

	expect_at(&range, BASE + 16, "c9");
	range = assemble("488d0591582000 c3 0f1f8000000000 90 ebee");
	expect_at(&range, BASE + 16, "c2");
	/* to something else, to itself, to one like it, and out of sight */
	range = assemble("4881058d582000 c3 0f1f8000000000 90 f30f1efa e9e7ffffff");
	expect_at(&range, BASE + 16, "");
	expect("f30f1efa e9f7ffffff", "");
	expect("ebfe", "");
	range = assemble("e9fb000000 0f1f8000000000 0f1f4000 e9ebffffff");
	expect_at(&range, BASE + 16, "");
	expect("e900100000", "");
	expect("e90000ffff", "");
	/* from a frame */
	range = assemble("488d0591582000 c3 0f1f8000000000 90 55 e9eaffffff");
	expect_at(&range, BASE + 16, "");
}

Test(crt_function, wants_an_end_that_returns)
{
	expect("b800000000 c3", "c6");
	expect("b800000000 ffe0", "");
	expect("55 5d c3", "c1 p1 c1");
	expect("55 c3", "");
	expect("55 55 5d 5d c3", "");
	expect("b800000000 5d c3", "");
	expect("b800000000 e800000000 c3", "");
	expect("b800000000 4889e5 c3", "");
	/* Paths that meet with different stacks: over the pop, over the push, back to the push */
	expect("b800000000 7501 55 5d c3", "");
	expect("55 7501 5d c3", "");
	/* A jump into an instruction, forwards and backwards; to before the start; to behind the end */
	expect("b800000000 7401 4885c0 c3", "");
	expect("b800000000 74fb c3", "");
	expect("b800000000 74f0 c3", "");
	expect("b800000000 7404 c3", "");
	expect("b800000000 7400 c3", "c8");
	/* What is behind the end is another function. */
	expect("b800000000 c3 b800000000 c3", "c6");
	/* Jumps to their own last byte, where code begins that pushes or returns */
	expect("b800000000 75ff f3c3", "");
	expect("b800000000 ebff c3", "");
	/* A long jump back to where rbp is on the stack */
	expect("b800000000 55 4889e5 5d 7405 e9f5ffffff c3", "");
	expect("b800000000 55 4889e5 7405 e9f6ffffff 5d c3", "c6 p11 c1");
	/* Code that nothing leads to */
	expect("b800000000 7406 c3 b800000000 c3", "");
	expect("b800000000 7404 c3 0f1f00 c3", "c12");
}

/* In memory of exactly that size, for AddressSanitizer. */
Test(crt_function, stays_in_sight)
{
	struct code_range all = assemble(dtors);

	for (size_t size = 1; size < all.size; size++) {
		uint8_t *exact = malloc(size);
		struct code_range range = { BASE, size, exact };
		struct known_code code;

		memcpy(exact, bytes, size);
		cr_assert_not(crt_function_find(&range, BASE, BASE + size, &code), "%zu bytes",
			      size);
		cr_assert_not(crt_function_find(&all, BASE, BASE + size, &code), "%zu bytes", size);
		free(exact);
	}
}

enum kind { OTHER, PUSH, POP, BRANCH, JUMP, LEAVE, RETURN };

/* Sizes and effects once more, from the manual's opcode map and not from the patterns. */
static const struct opcode {
	uint8_t has_modrm, immediate; /* bytes */
	enum kind kind;
} opcodes[256] = {
	[0x01] = { 1, 0, OTHER },  [0x29] = { 1, 0, OTHER },  [0x2d] = { 0, 4, OTHER },
	[0x39] = { 1, 0, OTHER },  [0x3d] = { 0, 4, OTHER },  [0x55] = { 0, 0, PUSH },
	[0x5d] = { 0, 0, POP },    [0x74] = { 0, 1, BRANCH }, [0x75] = { 0, 1, BRANCH },
	[0x76] = { 0, 1, BRANCH }, [0x77] = { 0, 1, BRANCH }, [0x80] = { 1, 1, OTHER },
	[0x81] = { 1, 4, OTHER },  [0x83] = { 1, 1, OTHER },  [0x85] = { 1, 0, OTHER },
	[0x89] = { 1, 0, OTHER },  [0x8b] = { 1, 0, OTHER },  [0x8d] = { 1, 0, OTHER },
	[0x90] = { 0, 0, OTHER },  [0xb8] = { 0, 4, OTHER },  [0xba] = { 0, 4, OTHER },
	[0xbe] = { 0, 4, OTHER },  [0xbf] = { 0, 4, OTHER },  [0xc1] = { 1, 1, OTHER },
	[0xc3] = { 0, 0, RETURN }, [0xc6] = { 1, 1, OTHER },  [0xc7] = { 1, 4, OTHER },
	[0xd1] = { 1, 0, OTHER },  [0xe8] = { 0, 4, OTHER },  [0xe9] = { 0, 4, JUMP },
	[0xeb] = { 0, 1, JUMP },   [0xff] = { 1, 0, OTHER },
};

struct step {
	size_t size;
	enum kind kind;
	bool sets_rbp;
	int64_t to; /* from its start */
};

static size_t modrm_size(uint8_t modrm)
{
	static const size_t displacements[] = { 0, 1, 4, 0 };
	size_t mod = modrm >> 6, rm = modrm & 7;

	return 1 + displacements[mod] + (mod < 3 && rm == 4) + (mod == 0 && rm == 5 ? 4 : 0);
}

static struct step decode(const uint8_t *start)
{
	static const struct opcode two_bytes = { 1, 0, OTHER }; /* nop, endbr64 */
	const uint8_t *p = start;
	const struct opcode *o;
	struct step step;
	int32_t far;

	while (*p == 0x66 || *p == 0x67 || *p == 0x2e || *p == 0xf3 || *p == 0x48)
		p++;
	o = *p == 0x0f ? &two_bytes : &opcodes[*p];
	p += *p == 0x0f ? 2 : 1;
	step = (struct step){ .kind = o->kind, .sets_rbp = p[-1] == 0x89 && *p == 0xe5 };
	if (p[-1] == 0xff && (*p >> 3 & 6) == 4) /* jmp */
		step.kind = LEAVE;
	if (p[-1] == 0xff && (*p >> 3 & 7) == 6)
		step.kind = PUSH;
	p += (o->has_modrm ? modrm_size(*p) : 0) + o->immediate;
	far = (int8_t)p[-1];
	if (o->immediate == 4)
		memcpy(&far, p - sizeof(far), sizeof(far));
	step.size = (size_t)(p - start);
	step.to = p - start + far;
	return step;
}

static const struct known_row *row_at(const struct known_code *code, uint64_t address)
{
	for (size_t i = 0; i < code->n_rows; i++)
		if (code->rows[i].start <= address && address < code->rows[i].end)
			return &code->rows[i];
	return NULL;
}

/* A function that is executed, and its rules. */
struct machine {
	const struct known_code *code;
	uint8_t been[sizeof(bytes)];
};

/* True if the rule matches the stack, and rbp is unchanged. */
static bool rule_is_true(const struct known_row *row, int depth, bool has_rbp)
{
	return row->cfa_offset == 8 + 8 * depth && row->fp_saved == (depth > 0) &&
	       (row->fp_saved || has_rbp);
}

/* Execute it along all of its paths: is the rule of each instruction true? */
static bool execute(struct machine *m, int64_t at, int depth, bool has_rbp)
{
	for (;;) {
		const struct known_row *row = at < 0 ? NULL : row_at(m->code, BASE + (uint64_t)at);
		struct step step;

		if (!row) /* another function, as if called */
			return depth == 0 && has_rbp;
		if (!rule_is_true(row, depth, has_rbp))
			return false;
		if (m->been[at])
			return true;
		m->been[at] = 1;
		step = decode(bytes + at);
		switch (step.kind) {
		case JUMP:
			return execute(m, at + step.to, depth, has_rbp);
		case BRANCH:
			if (!execute(m, at + step.to, depth, has_rbp))
				return false;
			break;
		case LEAVE:
		case RETURN:
			return depth == 0 && has_rbp;
		case PUSH:
			depth++;
			break;
		case POP:
			depth--;
			has_rbp = depth == 0;
			break;
		case OTHER:
			has_rbp = has_rbp && !step.sets_rbp;
		}
		at += (int64_t)step.size;
	}
}

static void expect_true_rules(const struct code_range *range, size_t *n_found)
{
	struct known_code code;
	struct machine m = { .code = &code };

	if (!crt_function_find(range, BASE, BASE + range->size, &code))
		return;
	++*n_found;
	if (execute(&m, 0, 0, true))
		return;
	for (size_t i = 0; i < range->size; i++)
		fprintf(stderr, "%02x ", bytes[i]);
	cr_assert(false, "has a rule that is wrong");
}

Test(crt_function, is_right_about_whatever_it_takes_for_one)
{
	struct code_range range = assemble(dtors);
	size_t n_found = 0;

	for (size_t at = 0; at < range.size; at++) {
		for (unsigned int value = 0; value < 256; value++) {
			uint8_t was = bytes[at];

			bytes[at] = (uint8_t)value;
			expect_true_rules(&range, &n_found);
			bytes[at] = was;
		}
	}
	cr_assert_gt(n_found, range.size, "the original, at each byte, at least");
}

Test(crt_function, is_right_about_any_sequence_of_its_instructions)
{
	static const char *const pieces[] = {
		"b800000000", "4885c0",         "55",   "55",   "5d",     "5d",
		"4889e5",     "e800000000",     "c3",   "c3",   "f3c3",   "ffe0",
		"7400",       "7500",           "eb00", "eb00", "0f1f00", "90",
		"e900000000", "488d3d00000000", "ffd0",
	};
	uint64_t random = 4711;
	size_t n_found = 0;

	for (int i = 0; i < 1000000; i++) {
		struct code_range range = { .address = BASE, .bytes = bytes };

		memset(bytes, 0xcc, 64);
		for (int j = 0; j < 8; j++) {
			const char *hex;
			unsigned int byte;
			int n;

			random = random * 6364136223846793005U + 1442695040888963407U;
			hex = pieces[(random >> 40) % ARRAY_SIZE(pieces)];
			for (; sscanf(hex, "%2x%n", &byte, &n) == 1; hex += n)
				bytes[range.size++] = (uint8_t)byte;
			/* Some jumps lead a bit further or back. */
			if (bytes[range.size - 1] == 0 && (random >> 33) % 4 != 0 &&
			    range.size > 1 && (bytes[range.size - 2] & 0xf0) != 0)
				bytes[range.size - 1] = (uint8_t)((random >> 50) % 24 - 12);
		}
		expect_true_rules(&range, &n_found);
	}
	cr_assert_gt(n_found, 10000);
}
