/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_LABEL_SET_H
#define DP_REPORT_LABEL_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "bpf/abi.h"
#include "report/label.h"

/*
 * The labels of a sample, such as route=/login: those that the program had given to what it was
 * doing, and those of other sources. One piece of memory, so that it is easily copied and
 * compared: sets of the same labels are the same bytes.
 */
struct label_set {
	size_t size; /* of the bytes */
	bool is_cut; /* some were left out, or a text was cut, which ends with "…" then */
	char bytes[];
};

struct label_set *label_set_free(struct label_set *set);
DEFINE_CLEANUP(struct label_set *, label_set_free)

/* Are there labels, but not all, or not whole? A set that is cut and empty is one that is not known. */
static inline bool label_set_is_part(const struct label_set *set)
{
	return set && set->is_cut && set->size > 0;
}

/* Bytes of a copy, a multiple of 8; 0 for NULL. */
size_t label_set_size(const struct label_set *set);

/* The next label, in the order of the keys, from *at = 0 on. False: there is none. */
bool label_set_next(const struct label_set *set, size_t *at, struct label *ret);

/* A set in the making; zero is an empty one. */
struct label_list {
	char *bytes; /* labels, as they are in a set */
	size_t size, room;
	size_t *starts; /* of each label */
	size_t n, starts_size;
	bool is_cut;
};

/* Bytes that a set has at most. A label that has no room is left out, and the set is cut. */
#define LABEL_SET_MAX ((size_t)16 << 10)

void label_list_done(struct label_list *list);

/* Copies what it is given. What is not UTF-8 becomes question marks. 0 or -ENOMEM. */
int label_list_add(struct label_list *list, const struct label *label);

/* Those of a sample's record. 0, -ENOMEM, or -EBADMSG if it has not as many as it says. */
int label_list_add_raw(struct label_list *list, const struct dp_labels *raw);

/* Put the labels into their order. 0 or -ENOMEM; the caller frees *ret. */
int label_set_new(const struct label_list *list, struct label_set **ret);

#endif
