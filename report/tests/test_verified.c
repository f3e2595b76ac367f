// SPDX-License-Identifier: Apache-2.0
/* Comparison of two stacks, and the figures and examples of --verify. */
#include <criterion/criterion.h>

#include "report/verified.h"
#include "symbols/tests/some_names.h"

static struct module program = {
	.name = "prog", .path = (char *)"/usr/bin/prog", .fd = -1, .symtab_tried = true
};

static const struct frame stack[] = {
	{ 0x5010, 0x1010, &program, DP_METHOD_LEAF },
	{ 0x5120, 0x1120, &program, DP_METHOD_TABLE },
	{ 0x5230, 0x1230, &program, DP_METHOD_TABLE },
	{ 0x5340, 0x1340, &program, DP_METHOD_FRAME_POINTER },
};

static const struct frame other[] = {
	{ 0x5010, 0x1010, &program, DP_METHOD_LEAF },
	{ 0x5120, 0x1120, &program, DP_METHOD_TABLE },
	{ 0x5238, 0x1238, &program, DP_METHOD_TABLE },
	{ 0x5340, 0x1340, &program, DP_METHOD_TABLE },
};

static const struct frame null_call[] = {
	{ 0x5010, 0x1010, &program, DP_METHOD_LEAF },
	{ 0x5120, 0x1120, &program, DP_METHOD_TABLE },
	{ 0, 0, NULL, DP_METHOD_SIGNAL },
};

static void expect(const struct frame *ours, size_t n_ours, const struct frame *theirs,
		   size_t n_theirs, bool copy_ended, enum verified_result result, size_t same)
{
	size_t n;
	enum verified_result found =
		verified_compare(ours, n_ours, theirs, n_theirs, copy_ended, &n);

	cr_expect(found == result, "%s, not %s", verified_word(found), verified_word(result));
	cr_expect(n == same, "%zu, not %zu", n, same);
}

Test(verified, compares_stacks)
{
	expect(stack, 4, stack, 4, false, VERIFIED_EQUAL, 4);
	expect(stack, 4, stack, 4, true, VERIFIED_EQUAL, 4);
	expect(stack, 4, stack, 2, false, VERIFIED_FURTHER, 2);
	expect(stack, 4, stack, 2, true, VERIFIED_COPY_END, 2);
	expect(stack, 2, stack, 4, false, VERIFIED_SHORTER, 2);
	expect(stack, 4, other, 4, false, VERIFIED_DIFFERS, 2);
	/* A copy that ends further out explains nothing. */
	expect(stack, 4, other, 4, true, VERIFIED_DIFFERS, 2);
	expect(stack, 2, stack, 4, true, VERIFIED_SHORTER, 2);
	expect(stack, 0, stack, 4, false, VERIFIED_SHORTER, 0);
}

Test(verified, knows_that_libdwfl_ends_at_address_zero)
{
	expect(null_call, 3, stack, 2, false, VERIFIED_EQUAL, 2);
	expect(null_call, 3, stack, 3, false, VERIFIED_DIFFERS, 2);
	expect(null_call, 3, stack, 1, false, VERIFIED_FURTHER, 1);
}

static struct verified results;
static char lines[10][512];
static size_t n_lines;

static void count(const struct frame *theirs, size_t n_theirs, enum verified_result result,
		  size_t n_equal)
{
	struct sample sample = {
		.pid = 42, .comm = "my prog", .outcome = DP_COMPLETE, .user = stack, .n_user = 4
	};
	struct verified_stack s = { result, n_equal, theirs, n_theirs, "because" };

	verified_count(&results, &sample, &s);
}

static void add_line(void *arg, const char *line)
{
	snprintf(lines[n_lines++], sizeof(lines[0]), "%s", line);
}

static void expect_summary(const char *expected)
{
	char text[512] = "";
	FILE *to = fmemopen(text, sizeof(text), "w");

	verified_print(&results, to);
	fclose(to);
	cr_expect_str_eq(text, expected);
}

Test(verified, sums_up)
{
	expect_summary("0 samples, 0 of 0 frames");
	for (int i = 0; i < 1999; i++)
		count(stack, 4, VERIFIED_EQUAL, 4);
	expect_summary("1999 samples, 1999 of 1999 stacks equal (100.0 %), 7996 of 7996 frames "
		       "(1999 by frame pointers)");
	count(other, 4, VERIFIED_DIFFERS, 2);
	/* It is not rounded to 100 %. */
	expect_summary("2000 samples, 1999 of 2000 stacks equal (99.950 %), 7998 of 8000 frames "
		       "(1999 by frame pointers); 1 differs");
	count(stack, 3, VERIFIED_COPY_END, 3);
	count(stack, 3, VERIFIED_NO_INFORMATION, 3);
	count(NULL, 0, VERIFIED_NO_COPY, 0);
	expect_summary("2002 samples, 1999 of 2000 stacks equal (99.950 %), 8004 of 8006 frames "
		       "(1999 by frame pointers); 1 copy_end; 1 no_information; 1 differs; "
		       "1 no_copy");
	cr_expect(verified_compared(&results) == 2000);
}

Test(verified, shows_the_first_of_each_kind)
{
	program.names = some_names();
	count(other, 4, VERIFIED_DIFFERS, 2);
	count(stack, 2, VERIFIED_FURTHER, 2);
	count(stack, 2, VERIFIED_FURTHER, 2);
	cr_assert(verified_for_each_kind(&results, true, 5, add_line, NULL) == 0);
	cr_assert(n_lines == 2);
	cr_expect_str_eq(
		lines[0],
		"2 further: the same frames, but libdwfl ends before dwarfprof; first in "
		"my prog (PID 42, complete), frame 2, the caller of prog+0x1120: dwarfprof "
		"has prog+0x1230 by table, libdwfl none (because)");
	cr_expect_str_eq(
		lines[1],
		"1 differs: a frame with another caller; first in my prog (PID 42, "
		"complete), frame 2, the caller of prog+0x1120: dwarfprof has prog+0x1230 by "
		"table, libdwfl prog+0x1238 by unwind information");
	n_lines = 0;
	cr_assert(verified_for_each_kind(&results, true, 1, add_line, NULL) == 0);
	cr_assert(n_lines == 2);
	cr_expect_str_eq(lines[1], "1 of other kinds");
}

Test(verified, bounds_the_kinds)
{
	static struct module modules[VERIFIED_MAX_KINDS + 10];

	for (size_t i = 0; i < VERIFIED_MAX_KINDS + 10; i++) {
		struct frame leaf = { 0x10, 0x10, &modules[i], DP_METHOD_LEAF };
		struct sample sample = { .user = &leaf, .n_user = 1 };
		struct verified_stack s = { VERIFIED_SHORTER, 1, stack, 2, NULL };

		verified_count(&results, &sample, &s);
	}
	cr_expect(results.n_kinds == VERIFIED_MAX_KINDS);
	cr_expect(results.other_kinds == 10);
	/* Modules of differences that are shown at the end are kept until then. */
	cr_expect(modules[0].n_holds == 1 && modules[VERIFIED_MAX_KINDS].n_holds == 0);
}
