// SPDX-License-Identifier: Apache-2.0
/* What the kernel reads where C++ runtimes throw. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "kernel/exception_lists.h"

static struct exception_lists *lists;

static void begin(void)
{
	lists = calloc(1, sizeof(*lists));
}

static void end(void)
{
	free(lists);
}

TestSuite(exception_lists, .init = begin, .fini = end);

static struct cxx_runtime runtime_at(uint64_t address)
{
	return (struct cxx_runtime){
		.throws = { [CXX_THROW] = { 0x100, address, 0, DP_RDI + 1, DP_RSI + 1 },
			    [CXX_RETHROW] = { 0x200, address + 0x100, 0, 0, 0 } },
		.what = { [DP_WHAT_LOGIC_ERROR] = 0x5000 },
	};
}

static int take(uint64_t address, enum cxx_throw place, bool *ret_new)
{
	const struct cxx_runtime runtime = runtime_at(address);

	return exception_lists_take(lists, &runtime, place, ret_new);
}

Test(exception_lists, read_what_is_in_registers)
{
	bool is_new;
	int number = take(0x5800, CXX_THROW, &is_new);
	const struct exception_list *l = &lists->of[number];
	const struct dp_argument *type = &l->arguments.of[EXCEPTION_TYPE];
	const struct dp_argument *message = &l->arguments.of[EXCEPTION_MESSAGE];

	cr_assert(is_new && l->arguments.n == EXCEPTION_N_VALUES);
	cr_assert(type->base == DP_BASE_REGISTER && type->reg == DP_RSI && type->is_text);
	cr_assert(type->n_derefs == 1 && type->derefs[0] == 8 && !type->is_what);
	cr_assert(message->base == DP_BASE_REGISTER && message->reg == DP_RDI && message->is_what);
	cr_assert_eq(message->n_derefs, 0);
	cr_assert(l->arguments.of[EXCEPTION_RETHROWN].add == 0 &&
		  l->arguments.of[EXCEPTION_LANGUAGE].add == 0);
	cr_assert_eq(l->whats.at[DP_WHAT_LOGIC_ERROR], -0x800);
	cr_assert_eq(l->whats.at[DP_WHAT_RUNTIME_ERROR], 0);
}

Test(exception_lists, read_nothing_where_nothing_is_known)
{
	bool is_new;
	int number = take(0x5800, CXX_RETHROW, &is_new);
	const struct exception_list *l = &lists->of[number];

	for (size_t i = 0; i < EXCEPTION_N_VALUES; i++)
		cr_assert(l->arguments.of[i].base == DP_BASE_CONSTANT &&
			  !l->arguments.of[i].is_text && !l->arguments.of[i].is_what);
	cr_assert_eq(l->arguments.of[EXCEPTION_TYPE].add, 0);
	cr_assert_eq(l->arguments.of[EXCEPTION_RETHROWN].add, 1);
}

/* By what precedes an object that was thrown. */
Test(exception_lists, read_what_an_exception_ptr_holds)
{
	struct cxx_runtime runtime = runtime_at(0x5800);
	const struct dp_argument *type, *message;
	bool is_new;
	int number;

	runtime.throws[CXX_RETHROW_HELD] = (struct cxx_place){ 0x300, 0x5900, 0, DP_RDI + 1, 0, 1 };
	number = exception_lists_take(lists, &runtime, CXX_RETHROW_HELD, &is_new);
	type = &lists->of[number].arguments.of[EXCEPTION_TYPE];
	message = &lists->of[number].arguments.of[EXCEPTION_MESSAGE];
	cr_assert(type->reg == DP_RDI && type->is_text && type->n_derefs == 3);
	cr_assert(type->derefs[0] == 0 && type->derefs[1] == -0x70 && type->derefs[2] == 8);
	cr_assert(message->reg == DP_RDI && message->is_what && message->n_derefs == 1);
	cr_assert_eq(message->derefs[0], 0);
	cr_assert_eq(lists->of[number].arguments.of[EXCEPTION_RETHROWN].add, 1);
	runtime.throws[CXX_RETHROW_HELD].is_held = 0;
	number = exception_lists_take(lists, &runtime, CXX_RETHROW_HELD, &is_new);
	type = &lists->of[number].arguments.of[EXCEPTION_TYPE];
	cr_assert(type->n_derefs == 2 && type->derefs[0] == -0x70 && type->derefs[1] == 8);
	cr_assert_eq(lists->of[number].arguments.of[EXCEPTION_MESSAGE].n_derefs, 0);
}

Test(exception_lists, read_what_python_raises)
{
	struct cxx_runtime runtime = { .throws = { [CXX_RAISE] = { 0x100, 0x1100, 0, DP_RDX + 1,
								   DP_RSI + 1, 0, 48 } } };
	const struct dp_argument *of;
	bool is_new;
	int number = exception_lists_take(lists, &runtime, CXX_RAISE, &is_new);

	of = lists->of[number].arguments.of;
	cr_assert(of[EXCEPTION_TYPE].reg == DP_RSI && of[EXCEPTION_TYPE].is_text);
	cr_assert(of[EXCEPTION_TYPE].n_derefs == 1 && of[EXCEPTION_TYPE].derefs[0] == 24);
	cr_assert(of[EXCEPTION_MESSAGE].reg == DP_RDX && of[EXCEPTION_MESSAGE].is_what == 48);
	cr_assert(of[EXCEPTION_LANGUAGE].add == 1 && of[EXCEPTION_RETHROWN].add == 0);
	runtime.throws[CXX_RAISE].text = 0;
	number = exception_lists_take(lists, &runtime, CXX_RAISE, &is_new);
	of = lists->of[number].arguments.of;
	cr_assert(is_new && of[EXCEPTION_TYPE].is_text && !of[EXCEPTION_MESSAGE].is_what);
	cr_assert_eq(of[EXCEPTION_MESSAGE].base, DP_BASE_CONSTANT);
}

/* A handle, in the second argument. */
Test(exception_lists, read_what_java_makes)
{
	struct cxx_runtime runtime = { .throws = {
					       [CXX_FILL] = { 0x100, 0x1100, 0, DP_RSI + 1 } } };
	const struct dp_argument *of;
	bool is_new;
	int number = exception_lists_take(lists, &runtime, CXX_FILL, &is_new);

	of = lists->of[number].arguments.of;
	cr_assert(of[EXCEPTION_TYPE].reg == DP_RSI && of[EXCEPTION_TYPE].n_derefs == 0);
	cr_assert_eq(of[EXCEPTION_TYPE].is_what, DP_THROWN_JAVA);
	cr_assert(!of[EXCEPTION_MESSAGE].is_what && of[EXCEPTION_MESSAGE].add == 0);
	cr_assert_eq(of[EXCEPTION_LANGUAGE].add, EXCEPTION_IS_JAVA);
	cr_assert_eq(of[EXCEPTION_RETHROWN].add, 0);
}

Test(exception_lists, are_shared_by_equal_runtimes)
{
	bool is_new;
	int first = take(0x1000, CXX_THROW, &is_new), other = take(0x1010, CXX_THROW, &is_new);

	cr_assert(is_new && first != other);
	cr_assert_eq(take(0x1000, CXX_THROW, &is_new), first);
	cr_assert(!is_new);
	exception_lists_drop(lists, (uint32_t)first);
	cr_assert_eq(take(0x1020, CXX_THROW, &is_new) != first, true, "it is still in use");
	exception_lists_drop(lists, (uint32_t)first);
	cr_assert_eq(take(0x1000, CXX_THROW, &is_new), first);
	cr_assert(is_new, "the kernel may have another one there by now");
	exception_lists_drop(lists, (uint32_t)first);
	cr_assert_eq(take(0x1030, CXX_THROW, &is_new), first);
	cr_assert(is_new);
}

Test(exception_lists, are_not_more_than_the_kernel_has)
{
	bool is_new;

	for (uint64_t i = EXCEPTION_FIRST_LIST; i < DP_MAX_ARGUMENT_LISTS; i++)
		cr_assert_eq(take(0x1000 + i, CXX_THROW, &is_new), (int)i);
	cr_assert_eq(take(0x9000, CXX_THROW, &is_new), -E2BIG);
	cr_assert_eq(take(0x1011, CXX_THROW, &is_new), 0x11);
}
