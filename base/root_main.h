/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_ROOT_MAIN_H
#define DP_BASE_ROOT_MAIN_H

#include <criterion/criterion.h>
#include <unistd.h>

/* What tells meson that a test was skipped */
#define EXIT_SKIPPED 77

/*
 * The main() of tests that the kernel lets only root do, in place of Criterion's own, for which
 * tests that are all skipped are as good as passed.
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
