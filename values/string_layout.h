/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_VALUES_STRING_LAYOUT_H
#define DP_VALUES_STRING_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "values/value_type.h"

/* Which words of an object hold the pointer to its text and the length. */
struct string_layout {
	enum value_type type;
	int32_t pointer, length; /* bytes behind the object's begin */
	bool is_by_text;         /* the length is `length` bytes behind the text's begin instead */
};

/*
 * libstdc++'s ABIs of strings never change (its manual, "Dual ABI"): std::__cxx11::basic_string, and
 * std::basic_string, whose text follows its length, capacity and count of references.
 */
#define STRING_LAYOUT_CXX11                                                                        \
	((struct string_layout){ .type = VALUE_STD_STRING, .pointer = 0, .length = 8 })
#define STRING_LAYOUT_BEFORE_CXX11                                                                 \
	((struct string_layout){ .type = VALUE_STD_STRING, .length = -24, .is_by_text = true })
/* libc++'s std::__1::basic_string: the object itself tells where its text is (DP_TEXT_LIBCXX). */
#define STRING_LAYOUT_LIBCXX ((struct string_layout){ .type = VALUE_LIBCXX_STRING })

#endif
