/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_KERNEL_LIST_H
#define DP_SYMBOLS_KERNEL_LIST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The functions that /proc/kallsyms lists. The kernel takes some 50 ms to write a hundred
 * thousand lines, so that they may be read by a thread; who asks for a function waits for
 * it. Any thread may ask.
 */
struct kernel_list;

struct kernel_function {
	uint64_t start;
	const char *name;   /* the list's; NULL: what is here is no function */
	const char *module; /* NULL: the kernel itself */
	int rank;           /* among those that start here, the highest gives the name */
};

/* The module of functions that are BPF programs. */
extern const char kernel_list_bpf[];

/* Open the list; it is not read yet. 0, -ENOMEM, or another errno. */
int kernel_list_new(const char *path, struct kernel_list **ret);
struct kernel_list *kernel_list_free(struct kernel_list *list);

/* Begin to read it, in a thread. Without one, and if this is never called, who asks first reads it. */
void kernel_list_read_ahead(struct kernel_list *list);

/* Until it is read: 0, -ENOMEM, or -EACCES if there is no function with an address; then it is empty. */
int kernel_list_wait(struct kernel_list *list);

/* The last function that starts at or below the address, if it can reach so far; else NULL. */
const struct kernel_function *kernel_list_find(struct kernel_list *list, uint64_t address);

/* Does a list have zeros in place of addresses? False if it cannot be read. */
bool kernel_list_is_hidden(const char *path);

#endif
