/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FUNCTIONS_FUNCTION_PARTS_H
#define DP_FUNCTIONS_FUNCTION_PARTS_H

#include "elf/function_list.h"

/*
 * Adds to a list the cold parts of its functions, which the compiler has moved elsewhere: GCC's and clang's
 * NAME.cold and NAME.cold.N; the latter may also be functions called on their own. The symbol identifies the
 * function only by name, which several functions may share. A part certainly belongs to a function if the name
 * is unique in the part's compilation unit; if the unit lacks it, among global functions; if these lack it, in
 * the file; and if the function has no other part. Other parts, and all NAME.cold.N, are LISTED_MAYBE_PART.
 *
 * Returns 0 or an error as function_search() does; after an error, the list may have some of the parts.
 */
int function_parts_add(int fd, struct function_list *list);

#endif
