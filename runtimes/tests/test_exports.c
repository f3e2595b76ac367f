// SPDX-License-Identifier: Apache-2.0
/* What this program exports. */
#include "runtimes/exports.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <link.h>

#include "base/array.h"
#include "elf/tests/own_file.h"

int exports_number = 7;
__thread int exports_local;
void exports_loop(void);
void exports_looping(void);

__attribute__((noinline)) void exports_loop(void)
{
	exports_local++;
}

__attribute__((noinline)) void exports_looping(void)
{
	exports_number++;
}

TestSuite(exports, .init = open_own_file, .fini = close_own_file);

Test(exports, finds_symbols)
{
	static const char *const names[] = { "exports_no", "exports_number" };
	struct elf_symbol found[ARRAY_SIZE(names)];
	const int *number;

	exports_find(&file, names, ARRAY_SIZE(names), found);
	cr_expect_eq(found[0].address, 0);
	cr_expect_eq(found[1].size, sizeof(int));
	number = elf_bytes_at(&file, found[1].address, sizeof(*number));
	cr_assert_not_null(number);
	cr_expect_eq(*number, 7);
}

Test(exports, finds_a_loop_and_no_other_function)
{
	struct dp_runtime_range ranges[DP_RUNTIME_RANGES];
	uint64_t bias = _r_debug.r_map->l_addr;

	cr_assert_eq(exports_find_loop(&file, "exports_loop", ranges), 0);
	cr_expect_eq(ranges[0].start + bias, (uintptr_t)exports_loop);
	cr_expect_gt(ranges[0].end, ranges[0].start);
	cr_expect_eq(ranges[0].is_loop, true);
	cr_expect_eq(ranges[1].end, 0);
	cr_expect_eq(exports_find_loop(&file, "exports_no", ranges), -ENOTSUP);
}

Test(exports, finds_thread_local_variables)
{
	struct dp_chain chain = { 0 };

	cr_assert_eq(exports_find_variable(&file, "exports_local", &chain), 0);
	cr_expect_eq(chain.place, DP_TLS_OFFSET);
	cr_expect_eq((uintptr_t)__builtin_thread_pointer() + chain.variable,
		     (uintptr_t)&exports_local);
	cr_expect_eq(exports_find_variable(&file, "exports_number", &chain), -ENOENT);
}
