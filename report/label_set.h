/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_LABEL_SET_H
#define DP_REPORT_LABEL_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "bpf/abi.h"

/*
 * The labels that a program had given to what it was doing when a sample was taken: texts by
 * texts, such as route=/login. One piece of memory, so that it is easily copied and compared.
 */
struct label_set {
	size_t size; /* of the texts */
	bool is_cut; /* some were left out, or a text was cut, which ends with "…" then */
	/* Key, value, key, value, ...: each with its zero; in the order of the keys */
	char texts[];
};

struct label {
	const char *key, *value;
};

/*
 * That of a sample's record; size: bytes of the record from `raw` on. 0, -ENOMEM, or -EBADMSG if
 * there are not so many. The caller frees *ret.
 */
int label_set_new(const struct dp_labels *raw, size_t size, struct label_set **ret);
/* Of texts as they are in a set: 0, -ENOMEM, or -EBADMSG if they are none. */
int label_set_new_texts(const char *texts, size_t size, bool is_cut, struct label_set **ret);
struct label_set *label_set_free(struct label_set *set);
DEFINE_CLEANUP(struct label_set *, label_set_free)

/* Are there labels, but not all, or not whole? A set that is cut and empty is one that is not known. */
static inline bool label_set_is_part(const struct label_set *set)
{
	return set && set->is_cut && set->size > 0;
}

/* Bytes of a copy, a multiple of 8; 0 for NULL. */
size_t label_set_size(const struct label_set *set);

/* The next label, from *at = 0 on. False: there is none. */
bool label_set_next(const struct label_set *set, size_t *at, struct label *ret);

#endif
