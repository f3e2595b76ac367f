// SPDX-License-Identifier: Apache-2.0
/* What an agent tells libdebuginfod. */
#include "cli/fetch_options.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(fetch_options, are_in_the_environment)
{
	unsetenv("DEBUGINFOD_URLS");
	unsetenv("DEBUGINFOD_MAXTIME");
	cr_assert_eq(fetch_options_apply(NULL, 9000000000), 0);
	cr_assert_null(getenv("DEBUGINFOD_MAXTIME"));
	cr_assert_eq(fetch_options_apply("http://localhost", 9000000000), 0);
	cr_assert_str_eq(getenv("DEBUGINFOD_URLS"), "http://localhost");
	cr_assert_str_eq(getenv("DEBUGINFOD_MAXTIME"), "10");
}
