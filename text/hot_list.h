/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_HOT_LIST_H
#define DP_TEXT_HOT_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "report/label_counts.h"
#include "report/profile.h"
#include "report/report.h"
#include "report/symbolized.h"
#include "report/value.h"

/* A function of a binary. Equal names in different binaries are different functions. */
struct hot {
	UT_hash_handle hh;
	uint64_t self;
	uint64_t total;
	const void *last_stack;     /* last stack counted in total: recursion counts once */
	const char *name;           /* in the key */
	struct label_counts labels; /* of total, by their values; see hot_list.has_labels */
	size_t key_size;
	char key[]; /* path of the binary and name, each zero-terminated; printable on a terminal */
};

/*
 * The value of each function by itself and with its callees: events, or nanoseconds. A wait belongs to
 * its innermost user function, whose name is followed by the reason: `epoll_wait [epoll]`.
 */
struct hot_list {
	struct report *report;     /* for its names and values */
	const struct value *value; /* what to add up; NULL: value_measured() */
	bool has_labels; /* functions have the values of the label by which stacks are grouped */
	struct hot *functions;              /* in a list, by hh.next */
	struct symbolized_stack symbolized; /* of the last stack added */
	/* The functions of that stack, leaf first, without marks. */
	struct hot **path;
	size_t n_path, path_size;
	size_t leaf; /* the one that was running, or that waits; HOT_NO_LEAF: none */
};

#define HOT_NO_LEAF SIZE_MAX

/* Leaves it empty, to be used again. */
void hot_list_done(struct hot_list *list);

/* Counts the functions of a stack. 0 or -ENOMEM. */
int hot_list_add(struct hot_list *list, const struct stack *stack);

/* Sorts the functions by their own value, largest first. */
void hot_list_sort(struct hot_list *list);

/*
 * Writes the label's most frequent value in a function, after its share of the function's total: " 61 % /login". ""
 * if there is none. The text is cut.
 */
#define HOT_LABEL_SIZE 64
void hot_describe_label(const struct hot *function, char buffer[HOT_LABEL_SIZE]);

/* The last part of the path of the function's binary. */
const char *hot_binary(const struct hot *function);

/*
 * The last part of the path of the function's binary, or the whole path if rows would look the
 * same.
 */
const char *hot_list_binary(const struct hot_list *list, const struct hot *function);

#endif
