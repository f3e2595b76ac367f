/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_KERNEL_LIST_H
#define DP_SYMBOLS_KERNEL_LIST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The functions listed in /proc/kallsyms. The kernel takes about 50 ms to write a hundred thousand
 * lines, so a thread can read them ahead; a look-up waits for it. All functions may be called from
 * any thread.
 */
struct kernel_list;

struct kernel_function {
	uint64_t start;
	const char *name;   /* owned by the list; NULL: no function starts here */
	const char *module; /* NULL: the kernel itself */
	int rank;           /* of several names with this start, the highest rank wins */
};

/* The module name of BPF programs. */
extern const char kernel_list_bpf[];

/* Opens the list without reading it. 0, -ENOMEM, or another negative errno. */
int kernel_list_new(const char *path, struct kernel_list **ret);
struct kernel_list *kernel_list_free(struct kernel_list *list);

/*
 * Starts reading the list in a thread. Otherwise, or if none can be started, the first look-up
 * reads it.
 */
void kernel_list_read_ahead(struct kernel_list *list);

/*
 * Waits until the list is read. 0, -ENOMEM, or -EACCES if no function has an address; the list is
 * then empty.
 */
int kernel_list_wait(struct kernel_list *list);

/* The last function that starts at or below the address; NULL if it cannot extend that far. */
const struct kernel_function *kernel_list_find(struct kernel_list *list, uint64_t address);

/* Whether a list has zeros instead of addresses. False if it cannot be read. */
bool kernel_list_is_hidden(const char *path);

#endif
