/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FUNCTIONS_FUNCTION_OFFSET_H
#define DP_FUNCTIONS_FUNCTION_OFFSET_H

#include <stdbool.h>

#include "elf/function_list.h"

/* FUNCTION+N, as users write it: the length of the function's name, and N. False: it is a name alone. */
bool function_offset_parse(const char *text, size_t *ret_length, uint64_t *ret_offset);

/*
 * Moves the functions of a list by `offset` from their starts, in the file behind fd. If an instruction does not begin
 * there in each of them, empties the list, or with has_why makes it say why (LISTED_WHY). 0 or as function_search().
 */
int function_offset_apply(int fd, uint64_t offset, bool has_why, struct function_list *list);

#endif
