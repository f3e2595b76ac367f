// SPDX-License-Identifier: Apache-2.0
/*
 * Code recognised by its bytes (PLTs, .init, trampolines, clone()), whole, truncated and altered.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "tables/known_code.h"

#define BASE UINT64_C(0x401000)

static uint8_t bytes[4096];

/* Code from hex digits; the rest is int3. */
static struct code_range assemble(const char *hex)
{
	struct code_range range = { .address = BASE, .bytes = bytes };
	int n;
	unsigned int byte;

	memset(bytes, 0xcc, sizeof(bytes));
	for (; sscanf(hex, " %2x%n", &byte, &n) == 1; hex += n)
		bytes[range.size++] = (uint8_t)byte;
	return range;
}

/*
 * The rule at each byte as a letter: . none, 8 and so on the CFA from rsp, b from rbp, s a signal
 * frame, c a clone.
 */
static void expect(const struct code_range *range, const char *rules)
{
	uint64_t start = range->address, end = start + range->size;
	char found[sizeof(bytes) + 1];
	struct known_code code;

	memset(found, '.', range->size);
	found[range->size] = '\0';
	while (known_code_next(range, start, end, &code)) {
		cr_assert(code.n_rows > 0 && code.n_rows <= KNOWN_MAX_ROWS);
		for (size_t i = 0; i < code.n_rows; i++) {
			const struct known_row *r = &code.rows[i];
			char letter = r->signal               ? 's' :
				      r->clone                ? 'c' :
				      r->cfa_reg == DP_REG_FP ? 'b' :
				      r->fp_saved             ? 'B' :
				      r->cfa_offset == 8      ? '8' :
				      r->cfa_offset == 16     ? '6' :
								'4';

			cr_assert(r->start >= start && r->start < r->end && r->end <= end);
			cr_assert(i == 0 || r->start == r[-1].end);
			memset(found + (r->start - range->address), letter, r->end - r->start);
			start = r->end;
		}
	}
	cr_assert_str_eq(found, rules);
}

#define INIT_BODY "488b05d59f0a00 4885c0 7402 ffd0 "

Test(known_code, knows_init_and_fini)
{
	struct code_range range = assemble("4883ec08" INIT_BODY "4883c408c3");

	expect(&range, "88886666666666666666668");
	range = assemble("f30f1efa 4883ec08" INIT_BODY "4883c408c3");
	expect(&range, "888888886666666666666666668");
	/* in a static program */
	range = assemble("4883ec08 48c7c000000000 4885c0 7402 ffd0 4883c408c3");
	expect(&range, "88886666666666666666668");
	range = assemble("4883ec08 4883c408c3");
	expect(&range, "888866668");
	range = assemble("f30f1efa 4883ec08 4883c408c3");
	expect(&range, "8888888866668");
	/* glibc until 2.15 */
	range = assemble("4883ec08 e801020304 e801020304 4883c408c3");
	expect(&range, "888866666666666666"
		       "8");
	/* musl */
	range = assemble("50 e801020304 58c3");
	expect(&range, "86666668");
	/* uClibc */
	range = assemble("55 4889e5 e801020304 5dc3");
	expect(&range, "8BBBbbbbbb8");
	range = assemble("55 4889e5 e801020304 c9c3");
	expect(&range, "8BBBbbbbbb8");
}

Test(known_code, wants_every_byte_of_a_function)
{
	static const char function[] = "4883ec08" INIT_BODY "4883c408c3";
	struct code_range range = assemble(function);

	for (size_t i = 0; i < range.size; i++) {
		if (i >= 7 && i < 11)
			continue; /* the distance to the GOT */
		range = assemble(function);
		bytes[i] ^= 0x20;
		expect(&range, ".......................");
	}
	for (size_t size = 1; size < sizeof("4883ec08 4883c408c3") / 2; size++) {
		char rules[16] = { 0 };

		range = assemble("4883ec08 4883c408c3");
		range.size = size;
		memset(rules, size == 9 ? '8' : '.', size);
		if (size < 9)
			expect(&range, rules);
	}
	/* A jump into an instruction, and one out of the function */
	range = assemble("4883ec08 7401 ffd0 4883c408c3");
	expect(&range, ".............");
	range = assemble("4883ec08 7409 ffd0 4883c408c3");
	expect(&range, ".............");
	/* Not where a function would start */
	range = assemble("90 50 58c3");
	expect(&range, "....");
}

#define PLT0 "ff3532ca0900 ff2534ca0900 0f1f4000 "
#define PLT0_ROWS "6666664444444444"

Test(known_code, knows_the_plt)
{
	struct code_range range = assemble(PLT0 "ff2532ca0900 6800000000 e9e0ffffff"
						"ff252aca0900 6801000000 e9d0ffffff");

	expect(&range, PLT0_ROWS "8888888888866666"
				 "8888888888866666");
	/* -z ibtplt, as both linkers do it */
	range = assemble(PLT0 "f30f1efa 6800000000 e9e2ffffff 6690"
			      "f30f1efa 6801000000 e9d2ffffff 6690");
	expect(&range, PLT0_ROWS "8888888886666666"
				 "8888888886666666");
	range = assemble("ff3532ca0900 f2ff2533ca0900 0f1f00"
			 "f30f1efa 6800000000 f2e9e1ffffff 90");
	expect(&range, PLT0_ROWS "8888888886666666");
	/* -z bndplt */
	range = assemble("ff3532ca0900 f2ff2533ca0900 0f1f00"
			 "6800000000 f2e9e5ffffff 0f1f440000");
	expect(&range, PLT0_ROWS "8888866666666666");
}

Test(known_code, knows_entries_that_only_jump)
{
	struct code_range range = assemble("ff259a3d0a00 6690 ff259a3d0a00 6690");

	expect(&range, "8888888888888888");
	range = assemble("f30f1efa ff259a3d0a00 660f1f440000 f30f1efa f2ff259a3d0a00 0f1f440000");
	expect(&range, "88888888888888888888888888888888");
	/* behind the PLT, in the same segment */
	range = assemble(PLT0 "ff259a3d0a00 6690");
	expect(&range, PLT0_ROWS "88888888");
	/* and behind its last entry, which leads to the first one */
	range = assemble(PLT0 "f30f1efa 6800000000 e9e2ffffff 6690"
			      "f30f1efa ff259a3d0a00 660f1f440000");
	expect(&range, PLT0_ROWS "8888888886666666"
				 "8888888888888888");
}

Test(known_code, takes_nothing_else_for_a_plt)
{
	/* GOT entries that are no neighbours: a trampoline for TLS descriptors */
	struct code_range range = assemble("ff3532ca0900 ff253cca0900 0f1f4000");

	expect(&range, "................");
	/* no first entry where it jumps to */
	range = assemble("f30f1efa 6800000000 e9e2ffffff 6690");
	expect(&range, "................");
	range = assemble("6800000000 f2e900000000 0f1f440000");
	expect(&range, "................");
	range = assemble(PLT0 "f30f1efa 6800000000 e9e3ffffff 6690");
	expect(&range, PLT0_ROWS "................");
	/* a jump in the middle of code */
	range = assemble("9090909090909090 ff259a3d0a00 6690");
	expect(&range, "................");
}

Test(known_code, knows_what_handlers_return_to)
{
	struct code_range range = assemble("90 48c7c00f000000 0f05 90");
	struct known_code code;

	expect(&range, "ssssssssss.");
	cr_assert(known_code_next(&range, BASE, BASE + 11, &code));
	cr_assert(code.rows[0].cfa_offset == 40);
	/* Only the byte before is unknown: that is where a return address is looked up. */
	cr_assert(known_code_next(&range, BASE, BASE + 1, &code));
	cr_assert(code.n_rows == 1 && code.rows[0].start == BASE && code.rows[0].end == BASE + 1);
	cr_assert(known_code_next(&range, BASE + 1, BASE + 11, &code));
	cr_assert(code.rows[0].start == BASE + 1 && code.rows[0].end == BASE + 10);
	/* the old system call */
	range = assemble("90 48c7c077000000 0f05 90");
	expect(&range, "...........");
	range = assemble("90 48c7c00f000000 0f");
	expect(&range, ".........");
}

/* Nothing behind a range is read, and rows stay inside the requested part. */
Test(known_code, survives_every_truncation)
{
	struct code_range all =
		assemble("f30f1efa 4883ec08" INIT_BODY "4883c408c3 cccccccccc" PLT0
			 "ff2532ca0900 6800000000 e9e0ffffff"
			 "f30f1efa 6801000000 e9d2ffffff 6690"
			 "f30f1efa ff259a3d0a00 660f1f440000"
			 "ff259a3d0a00 6690 48c7c00f000000 0f05 50 58c3"
			 "0f1f4000 0f1f80000000" /* to where crtbegin.o's may be */
			 "803d0000000000 7506 55 4889e5 5d c3 c3 660f1f440000 90 66666690"
			 "e9dbffffff 0f05 4885c0 7c18 7401 c3");
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *room =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert(room != MAP_FAILED && all.size <= page);
	cr_assert(mprotect(room + page, page, PROT_NONE) == 0);
	for (size_t from = 0; from < all.size; from++) {
		for (size_t to = from + 1; to <= all.size; to++) {
			uint8_t *exact = room + page - (to - from);
			struct code_range range = { BASE + from, to - from, exact };
			struct known_code code;

			memcpy(exact, bytes + from, to - from);
			for (uint64_t start = range.address; start < BASE + to; start++) {
				if (!known_code_next(&range, start, BASE + to, &code))
					break;
				cr_assert(code.rows[0].start >= start);
				cr_assert(code.rows[code.n_rows - 1].end <= BASE + to);
			}
		}
	}
	munmap(room, 2 * page);
}

Test(known_code, knows_the_system_call_of_clone)
{
	struct code_range range = assemble("0f05 4885c0 7c18 7401 c3 cc");

	expect(&range, "cccccccccc.");
	range = assemble("0f05 4885c0 0f8c10203040 7401 c3 cc");
	expect(&range, "cccccccccccccc.");
	for (size_t i = 0; i < 10; i++) {
		if (i == 6 || i == 8)
			continue; /* how far the jumps lead */
		range = assemble("0f05 4885c0 7c18 7401 c3 cc");
		bytes[i] ^= 0x20;
		expect(&range, "...........");
	}
	/* Unwind information ends in front of it. */
	range = assemble("cc 0f05 4885c0 7c17 7401 c3");
	expect(&range, "...........");
	range = assemble("0f05 4885c0 7c17 7401");
	expect(&range, ".........");
}

/* The quick look must not exclude what the full search would find. */
Test(known_code, looks_twice_where_there_may_be_some)
{
	static const struct {
		const char *code;
		bool is_none;
	} gaps[] = {
		{ "0f1f8000000000 0f1f8000000000 6690", true },
		{ "662e0f1f840000000000 0f1f440000 90", true },
		{ "cccccccccccccccc", true },
		{ "0f05 4885c0 7c18 7401 c3", false },
		{ "0f05 4885c0 c3", false },
		{ "90 48c7c00f000000 0f05", false },
		{ "0f1f840000000000 0f1f840000000000 803d00000000 00 c3", false },
		{ "0f1f840000000000 0f1f4000 803d00000000 00 c3", true },
		{ "0f1f840000000000 0f1f840000000000 e9f7ffffff", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(gaps); i++) {
		struct code_range range = assemble(gaps[i].code);

		cr_assert_eq(known_code_is_none(&range, range.address, range.address + range.size),
			     gaps[i].is_none, "%s", gaps[i].code);
	}
}

/* The trampoline's row starts a byte before it, which may be the last of a gap. */
Test(known_code, looks_at_what_is_behind_a_gap)
{
	struct code_range range = assemble("90 48c7c00f000000 0f05");

	cr_assert_not(known_code_is_none(&range, BASE, BASE + 1));
	range = assemble("90 c3");
	cr_assert(known_code_is_none(&range, BASE, BASE + 1));
	range = assemble("90");
	cr_assert(known_code_is_none(&range, BASE, BASE + 1), "nothing is");
}

Test(known_code, knows_functions_of_crtbegin_where_they_may_be)
{
	struct code_range range = assemble("0f1f840000000000 0f1f840000000000 b800000000 c3"
					   "0f1f8000000000 0f1f00 e9ebffffff");

	expect(&range, "................888888..........88888");
	range = assemble("0f1f840000000000 0f1f4000 b800000000 c3");
	expect(&range, "..................");
}

/* Whatever instruction they start with. */
Test(known_code, knows_each_of_crtbegins_functions)
{
	static const char *const functions[] = {
		"488d3d00000000 c3", "488d0500000000 c3", "48833d0000000000 c3",
		"803d0000000000 c3", "b800000000 c3",     "be00000000 c3",
		"bf00000000 c3",     "55 5d c3",          "eb00 c3",
		"e900000000 c3",     "f30f1efa c3",
	};

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		char hex[64];
		struct code_range range;
		struct known_code code;

		snprintf(hex, sizeof(hex), "0f1f840000000000 0f1f840000000000 %s", functions[i]);
		range = assemble(hex);
		cr_assert_not(known_code_is_none(&range, BASE, BASE + range.size), "%s", hex);
		cr_assert(known_code_next(&range, BASE, BASE + range.size, &code), "%s", hex);
		cr_assert_eq(code.rows[0].start, BASE + 16);
		cr_assert_eq(code.rows[code.n_rows - 1].end, BASE + range.size);
	}
}
