/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FUNCTIONS_FUNCTION_ENDS_H
#define DP_FUNCTIONS_FUNCTION_ENDS_H

#include "elf/function_list.h"

/*
 * Adds to a list, as LISTED_EXIT, where its functions and their listed parts return or tail-call others
 * (tables/function_exits.h). Adds none for a function whose code cannot be decoded or is too large, and none at all
 * if there are too many. 0 or as function_search().
 */
int function_ends_add(int fd, struct function_list *list);

#endif
