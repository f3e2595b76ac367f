/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_FUNCTION_LIST_H
#define DP_ELF_FUNCTION_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Functions of a file (elf_functions.h) in one piece of memory, as one process hands them to another. Starts
 * as zero.
 */
struct function_list {
	char *bytes;
	size_t size, room;
};

enum listed_kind {
	LISTED_FUNCTION,
	LISTED_PART,       /* code of one of the functions that is elsewhere */
	LISTED_MAYBE_PART, /* which may be that of one of them */
	LISTED_WHY,        /* none: its name is a sentence that says why there is nothing */
	LISTED_HINT,       /* it has another name than was wanted, and may be meant */
	LISTED_EXIT,       /* an instruction at which one of the functions may end */
	LISTED_N_KINDS,
};

struct listed_function {
	enum listed_kind kind;
	uint64_t offset, size; /* in the file; the size is 0 if it is not told */
	const char *symbol;    /* within the list, as the next: any bytes */
	const char *name;      /* as in the source; of a part or an exit, "" */
	uint64_t of;           /* PART, EXIT: where the function begins */
};

/* 0, -EFBIG above the size, -EINVAL if it has no symbol, or -ENOMEM. function_list_done() frees the list. */
int function_list_add(struct function_list *list, const struct listed_function *function);
void function_list_done(struct function_list *list);

/* Whether the bytes are a well-formed list; they may come from an untrusted process. */
bool function_list_is_sound(const struct function_list *list);

/* The function at *at, first 0, which moves on. False: there is no other one. */
bool function_list_next(const struct function_list *list, size_t *at, struct listed_function *ret);

#endif
