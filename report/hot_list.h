/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_HOT_LIST_H
#define DP_REPORT_HOT_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "report/profile.h"
#include "report/report.h"
#include "report/symbolized.h"

/* A function of a binary. Equal names in different binaries are different functions. */
struct hot {
	UT_hash_handle hh;
	uint64_t self;
	uint64_t total;
	const void *last_stack; /* counted in total for this one already: recursion counts once */
	const char *name;       /* in the key */
	size_t key_size;
	char key[]; /* path of the binary and name, each with its zero; fit for a terminal */
};

/*
 * What each function took by itself and with those that it called: events, or nanoseconds. A wait
 * is its innermost user function's, whose name has the reason behind it: `read [futex]`.
 */
struct hot_list {
	struct report *report;              /* whose names and values are shown */
	struct hot *functions;              /* in a list, by hh.next */
	struct symbolized_stack symbolized; /* of the stack that was added last */
};

void hot_list_done(struct hot_list *list);

/* Count the functions of a stack. 0 or -ENOMEM. */
int hot_list_add(struct hot_list *list, const struct stack *stack);

/* All were added: put those functions first that took most themselves. */
void hot_list_sort(struct hot_list *list);

/* The last part of the function's binary's path; the whole where a row would look like another one. */
const char *hot_list_binary(const struct hot_list *list, const struct hot *function);

#endif
