/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_FUNCTION_ENDS_H
#define DP_SYMBOLS_FUNCTION_ENDS_H

#include "elf/function_list.h"

/*
 * Adds to a list the places at which its functions return or jump to others (tables/function_exits.h), as
 * LISTED_EXIT; those of their parts, too, which must be in the list. A function has none there if its code is not
 * sound, or too large, and none has any if there are too many. 0 or as function_search().
 */
int function_ends_add(int fd, struct function_list *list);

#endif
