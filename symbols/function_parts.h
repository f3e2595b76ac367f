/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_FUNCTION_PARTS_H
#define DP_SYMBOLS_FUNCTION_PARTS_H

#include "elf/function_list.h"

/*
 * Adds to a list the parts of its functions that the compiler has put elsewhere, as they rarely run: GCC's and
 * clang's NAME.cold, and NAME.cold.N, of which the latter may also be called as a function. The symbol only
 * has the name of the function, which several may have. A part is one's for certain if that is the only one of
 * its name in the part's compilation unit, or if there is none, of those that all units share, or of all; and
 * if it has no other part. Others are LISTED_MAYBE_PART.
 *
 * 0, or as function_search(); then, the list may have some of them.
 */
int function_parts_add(int fd, struct function_list *list);

#endif
