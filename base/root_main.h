/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_ROOT_MAIN_H
#define DP_BASE_ROOT_MAIN_H

#include <criterion/criterion.h>
#include <unistd.h>

/* The exit status by which meson knows a skipped test. */
#define EXIT_SKIPPED 77

/*
 * A main() for tests that need root. It replaces Criterion's, which reports success if all tests
 * are skipped.
 */
int main(int argc, char **argv)
{
	struct criterion_test_set *tests;
	int failed;

	if (geteuid() != 0)
		return EXIT_SKIPPED;
	tests = criterion_initialize();
	failed = criterion_handle_args(argc, argv, true) && !criterion_run_all_tests(tests);
	criterion_finalize(tests);
	return failed;
}

#endif
