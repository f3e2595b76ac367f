// SPDX-License-Identifier: Apache-2.0
/* Which symbols answer to a name. c++filt and rustfilt give the names of these. */
#include "functions/function_pattern.h"

#include <criterion/criterion.h>

#define VECTOR_PUSH "_ZNSt6vectorIiSaIiEE9push_backERKi"

static void expect(const char *text, const char *symbol, enum function_match match)
{
	_cleanup_function_pattern_ struct function_pattern pattern;
	int got;

	cr_assert_eq(function_pattern_init(&pattern, text), 0);
	got = function_pattern_match(&pattern, symbol);
	cr_expect_eq(got, (int)match, "%s, %s: %d", text, symbol, got);
}

Test(function_pattern, takes_names_as_in_the_source)
{
	expect("main", "main", FUNCTION_BY_NAME);
	expect("main", "main_loop", FUNCTION_OTHER);
	expect("main_loop", "main", FUNCTION_OTHER);
	expect("memcpy", "memcpy@@GLIBC_2.14", FUNCTION_BY_NAME);
	expect("ns::C::get", "_ZN2ns1C3getEv", FUNCTION_BY_NAME);
	expect("C::get", "_ZN2ns1C3getEv", FUNCTION_OTHER);
	expect("_ZN2ns1C3getEv", "_ZN2ns1C3getEv", FUNCTION_BY_NAME);
	expect("std::vector<int,std::allocator<int>>::push_back", VECTOR_PUSH, FUNCTION_BY_NAME);
	expect("core::fmt::Write::write_fmt", "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
	       FUNCTION_BY_NAME);
	expect("mycrate::foo::bar", "_RNvNtCs1234_7mycrate3foo3bar", FUNCTION_BY_NAME);
	expect("demangle.test", "_D8demangle4testFaZv", FUNCTION_BY_NAME);
}

Test(function_pattern, tells_overloads_apart_by_their_parameters)
{
	expect("ns::f(int, char const*)", "_ZN2ns1fEiPKc", FUNCTION_BY_NAME);
	expect("ns::f(int,char const*)", "_ZN2ns1fEiPKc", FUNCTION_BY_NAME);
	expect("ns::f(int)", "_ZN2ns1fEiPKc", FUNCTION_OTHER);
	expect("ns::f()", "_ZN2ns1fEv", FUNCTION_BY_NAME);
	expect("ns::C::get() const", "_ZNK2ns1C3getEv", FUNCTION_BY_NAME);
	/* int twice<int>(int), a copy of ns::f(int) */
	expect("twice<int>(int)", "_Z5twiceIiET_S0_", FUNCTION_BY_NAME);
	expect("ns::f(int)", "_ZN2ns1fEi.constprop.0", FUNCTION_BY_NAME);
	expect("operator()", "_ZN2nsclEv", FUNCTION_OTHER);
	expect("ns::C::operator()", "_ZN2ns1CclEi", FUNCTION_BY_NAME);
	expect("ns::C::operator()(int)", "_ZN2ns1CclEi", FUNCTION_BY_NAME);
	/* Parentheses in a name are no parameters. */
	expect("<() as m::T>::f", "_RNvXC1muNtB2_1T1f", FUNCTION_BY_NAME);
}

Test(function_pattern, takes_globs)
{
	expect("ns::*", "_ZN2ns1C3getEv", FUNCTION_BY_GLOB);
	expect("*", "main", FUNCTION_BY_GLOB);
	expect("ma?n", "main", FUNCTION_BY_GLOB);
	expect("ma[hi]n", "main", FUNCTION_BY_GLOB);
	expect("ma[xy]n", "main", FUNCTION_OTHER);
	expect("ns::C::*", "_ZN2ns1fEi", FUNCTION_OTHER);
	expect("ns::f(*)", "_ZN2ns1fEi", FUNCTION_BY_GLOB);
	expect("ns::f(int*)", "_ZN2ns1fEPi", FUNCTION_BY_NAME);
	expect("ns::f(int*)", "_ZN2ns1fEii", FUNCTION_BY_GLOB);
	expect("ns::C::operator[]", "_ZN2ns1CixEi", FUNCTION_BY_NAME);
	expect("*::push_back", VECTOR_PUSH, FUNCTION_BY_GLOB);
	expect("*push*Rk?", VECTOR_PUSH, FUNCTION_OTHER);
	expect("_Z*push*", VECTOR_PUSH, FUNCTION_BY_GLOB);
	expect("_Z*pull*", VECTOR_PUSH, FUNCTION_OTHER);
	expect("no glob", "no glob at all", FUNCTION_OTHER);
}

/* Copies are entered by calls; parts that the compiler cut out of a function are not. */
Test(function_pattern, takes_copies_but_not_parts)
{
	expect("reduce", "reduce.constprop.0", FUNCTION_BY_NAME);
	expect("reduce", "reduce.isra.0", FUNCTION_BY_NAME);
	expect("reduce", "reduce.part.0", FUNCTION_OTHER);
	expect("reduce*", "reduce.part.0", FUNCTION_OTHER);
	expect("reduce", "reduce.cold", FUNCTION_OTHER);
	expect("reduce", "reduce.isra.0.cold", FUNCTION_OTHER);
	expect("reduce.cold", "reduce.cold", FUNCTION_BY_NAME);
	expect("reduce.part.0", "reduce.part.0", FUNCTION_BY_NAME);
	expect("a::b", "_ZN1a1bEv.cold", FUNCTION_OTHER);
}

/* With GCC's names, and clang's. */
Test(function_pattern, takes_the_begin_of_a_coroutine_alone)
{
	expect("f", "_Z1fi", FUNCTION_BY_NAME);
	expect("f", "_Z1fPZ1fiE6_Z1fi.Frame.actor", FUNCTION_OTHER);
	expect("f", "_Z1fPZ1fiE6_Z1fi.Frame.destroy", FUNCTION_OTHER);
	expect("f*", "_Z1fi.resume", FUNCTION_OTHER);
	expect("f*", "_Z1fi.destroy", FUNCTION_OTHER);
	expect("f*", "_Z1fi.cleanup", FUNCTION_OTHER);
	expect("_Z1fi.resume", "_Z1fi.resume", FUNCTION_BY_NAME);
	expect("main.*", "main.resume", FUNCTION_BY_GLOB);
}
