// SPDX-License-Identifier: Apache-2.0
/*
 * Part of each unit test under AddressSanitizer: leaks are looked for in the process of each test, but
 * not in the one that starts these, where nothing but Criterion runs. Criterion 2.4 now and then
 * leaks there what it has for a test's time limit.
 */
#include <sanitizer/lsan_interface.h>
#include <stdlib.h>

int __lsan_is_turned_off(void)
{
	return !getenv("BXFI_MAP"); /* set for the process of a test */
}
