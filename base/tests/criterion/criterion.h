/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_TESTS_CRITERION_CRITERION_H
#define DP_BASE_TESTS_CRITERION_CRITERION_H

/*
 * The system's <criterion/criterion.h>; but what an assertion does that fails is in a function. There are
 * ten thousand, and sanitizers made most of their code of it: a third of the time to build the tests.
 */
#include_next <criterion/criterion.h>

/* Reports that a condition does not hold: with `message`, which it takes over, or what `format` has behind its "x". */
__attribute__((format(printf, 4, 5))) void
criterion_tell_failure(const char *file, unsigned int line, char *message, const char *format, ...);

/* See criterion/internal/assert.h. Those that hold are not reported with --full-stats, as they are there. */
#undef cr_assert_impl
#define cr_assert_impl(Fail, Condition, Dummy, Message, Arguments, ...)                            \
	do {                                                                                       \
		if (!!(Condition)) {                                                               \
			cri_asserts_passed_incr();                                                 \
		} else {                                                                           \
			criterion_tell_failure(__FILE__, __LINE__,                                 \
					       cr_translate_assert_msg(Message,                    \
								       "" CR_IDENTITY Arguments),  \
					       "x" __VA_ARGS__);                                   \
			Fail();                                                                    \
		}                                                                                  \
	} while (0)

#endif
