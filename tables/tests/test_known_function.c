// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "known_function.h"

#define BASE UINT64_C(0x401000)
#define FS "25f8ffffff"

static uint8_t bytes[1024];

/* What is assembled from hex digits. */
static struct code_range assemble(const char *hex)
{
	struct code_range range = { .address = BASE, .bytes = bytes };
	unsigned int byte;
	int n;

	for (; sscanf(hex, " %2x%n", &byte, &n) == 1; hex += n)
		bytes[range.size++] = (uint8_t)byte;
	return range;
}

static bool find(const struct code_range *range, uint64_t gap, struct known_function *ret)
{
	return known_function_find(range, gap, BASE + gap, BASE + range->size, ret);
}

static const char goexit[] = "90 e83a250000 90";
static const char mcall[] =
	"4889c2 488b1c24 49895e40 488d5c2408 644c8934" FS " 498b6638 50 41ffd4 58";
static const char morestack[] = "64488b1c" FS "488b5b30 488b33 488b6338 e895450000";
static const char rt0_go[] = "4889f8 4889f3 4883ec28 4883e4f0 4889442418 48895c2420 90";
static const char clone[] =
	"8b7c2408 488b742410 b838000000 0f05 4883f800 7405 89442430 c3 4889f4 41ffd4";
static const char systemstack[] =
	"488b7c2408 64488b04" FS
	"488b5830 e8d2f1ffff 488b5a38 4889dc 4889fa 488b3f ffd7 64488b04" FS
	"488b5830 488b83c0000000 64488904" FS "488b6038 48c7403800000000 c3";
static const char asmcgocall[] =
	"488b442408 488b5c2410 4889e2 4883ec40 48897c2430 488b7f08 4829d7 48897c2428 4889df 4889d9 ffd0"
	"488b7c2430 488b7708 482b742428 6448893c" FS "4889f4 89442418 c3";

Test(known_function, knows_the_roots_of_go)
{
	static const struct {
		const char *function;
		uint64_t start, end; /* from the end on */
	} roots[] = {
		{ goexit, 7, 0 },  { mcall, 5, 0 }, { morestack, 5, 0 },
		{ rt0_go, 25, 0 }, { clone, 3, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		struct code_range range = assemble(roots[i].function);
		struct known_function known;

		cr_assert(find(&range, 0, &known), "number %zu", i);
		cr_assert(known.rule.ra.kind == DP_WHERE_UNDEFINED);
		cr_assert(known.start == BASE + range.size - roots[i].start, "number %zu: %lx", i,
			  known.start - BASE);
		cr_assert(known.end == BASE + range.size - roots[i].end);
	}
}

Test(known_function, finds_the_way_to_the_goroutine)
{
	struct code_range range = assemble(systemstack);
	struct known_function known;
	const struct rule_program *program = &known.programs.of[RULE_PART_CFA];

	cr_assert(find(&range, 0, &known));
	cr_assert(known.rule.cfa == DP_CFA_SWITCH && known.rule.ra.kind == DP_WHERE_CFA);
	/* from behind `mov %rbx, %rsp` to `mov 0x38(%rax), %rsp` */
	cr_assert(known.start == BASE + 30 && known.end == BASE + range.size - 9, "%lx to %lx",
		  known.start - BASE, known.end - BASE);
	cr_assert(program->n_ops == 14 && program->ops[8].value == 0xc0);

	range = assemble(asmcgocall);
	cr_assert(find(&range, 0, &known));
	cr_assert(known.rule.cfa == DP_CFA_SWITCH && program->n_ops == 8);
	cr_assert(known.start == BASE + 34 && known.end == BASE + range.size - 5);
}

Test(known_function, knows_a_return_to_the_start)
{
	struct code_range range = assemble("cccc c3");
	struct known_function known;

	cr_assert(find(&range, 2, &known));
	cr_assert(known.start == BASE + 1 && known.end == BASE + 3);
	cr_assert(known.rule.cfa == DP_CFA_REGISTER && known.rule.cfa_offset == 8);
	cr_assert(!known_function_find(&range, 1, BASE + 2, BASE + 3, &known));
	range = assemble("cc90 c3");
	cr_assert(!find(&range, 2, &known));
	range = assemble("cccc c390");
	cr_assert(!find(&range, 2, &known));
}

/* Each byte that is not part of a number or a distance counts. */
Test(known_function, takes_nothing_else_for_goexit)
{
	for (size_t i = 0; i < 7; i++) {
		struct code_range range = assemble(goexit);
		struct known_function known;

		if (i >= 2 && i < 6)
			continue;
		bytes[i] ^= 0x20;
		cr_assert(!find(&range, 0, &known));
	}
	struct code_range longer = assemble("90 e83a250000 90 90");
	struct known_function known;

	cr_assert(!find(&longer, 0, &known));
}

/* In memory of exactly that size, for AddressSanitizer. */
Test(known_function, survives_every_truncation)
{
	static const char *const functions[] = { goexit, mcall,       morestack, rt0_go,
						 clone,  systemstack, asmcgocall };

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		struct code_range all = assemble(functions[i]);

		for (size_t size = 1; size <= all.size; size++) {
			uint8_t *exact = malloc(size);
			struct code_range range = { BASE, size, exact };
			struct known_function known;

			memcpy(exact, bytes, size);
			if (find(&range, 0, &known))
				cr_assert(known.start >= BASE && known.start < known.end &&
					  known.end <= BASE + size);
			free(exact);
		}
	}
}
