/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_FUNCTION_LIST_H
#define DP_ELF_FUNCTION_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The functions of a file (elf_functions.h) in one piece of memory, as one process hands them to
 * another: where each begins in the file and its size, and its symbol with its zero.
 */
struct function_list {
	char *bytes;
	size_t size;
};

#define FUNCTION_LIST_MAX_SIZE (UINT32_C(256) << 20)

struct listed_function {
	uint64_t offset, size;
	const char *symbol; /* within the list; any bytes */
};

/*
 * Lists those of the file behind fd. 0, an error of elf_functions_each(), -EFBIG above the size, or
 * -ENOMEM. function_list_done() frees *ret, which is empty on failure.
 */
int function_list_read(int fd, struct function_list *ret);
void function_list_done(struct function_list *list);

/* Is it one, whoever wrote it? */
bool function_list_is_sound(const struct function_list *list);

/* The function at *at, first 0, which moves on. False: there is no other one. */
bool function_list_next(const struct function_list *list, size_t *at, struct listed_function *ret);

#endif
