/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_LABEL_SET_H
#define DP_REPORT_LABEL_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "bpf/abi.h"
#include "report/label.h"

/*
 * The labels of a sample, such as route=/login: those that the program has set, and those of other
 * sources. One block of memory, easy to copy and compare: equal sets are equal bytes.
 */
struct label_set {
	size_t size; /* of the bytes */
	bool is_cut; /* some are missing, or a text was cut and ends with "…" */
	char bytes[];
};

struct label_set *label_set_free(struct label_set *set);
DEFINE_CLEANUP(struct label_set *, label_set_free)

/* True if labels are missing or cut. A set that is cut and empty is not known. */
static inline bool label_set_is_part(const struct label_set *set)
{
	return set && set->is_cut && set->size > 0;
}

/* Size of a copy, a multiple of 8; 0 for NULL. */
size_t label_set_size(const struct label_set *set);

/* Returns the next label in the order of keys, starting from *at = 0. False: there is none. */
bool label_set_next(const struct label_set *set, size_t *at, struct label *ret);

/* Is there a label with this key and text? */
bool label_set_has(const struct label_set *set, const char *key, const char *text);

/* Is there a value of a probe's call? */
bool label_set_is_marked(const struct label_set *set);
/* Sets the probe of a label of the set. */
void label_set_mark(struct label_set *set, const struct label *label, unsigned int probe);

/* Makes one of all labels of two, which may be NULL. 0 or -ENOMEM; the caller frees *ret. */
int label_set_join(const struct label_set *a, const struct label_set *b, struct label_set **ret);

/* A set being built; all zero is an empty one. */
struct label_list {
	char *bytes; /* labels, in the form of a set */
	size_t size, room;
	size_t *starts; /* of each label */
	size_t n, starts_size;
	bool is_cut;
};

void label_list_done(struct label_list *list);

/* Copies its arguments. Bytes that are not UTF-8 become question marks. 0 or -ENOMEM. */
int label_list_add(struct label_list *list, const struct label *label);

/* Whether one of the first n labels has this key. */
bool label_list_has_key(const struct label_list *list, size_t n, const char *key);

/* Sets the probe of labels, from a number on. */
void label_list_mark(struct label_list *list, size_t from, unsigned int probe);

/* Takes those with this key away. */
void label_list_remove(struct label_list *list, const char *key);

/*
 * Adds those of a sample's record, of equal keys the first one. 0, -ENOMEM, or -EBADMSG if it has fewer than
 * it says.
 */
int label_list_add_raw(struct label_list *list, const struct dp_labels *raw);

/* Sorts the labels into a set. 0 or -ENOMEM; the caller frees *ret. */
int label_set_new(const struct label_list *list, struct label_set **ret);

#endif
