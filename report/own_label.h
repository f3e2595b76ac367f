/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_OWN_LABEL_H
#define DP_REPORT_OWN_LABEL_H

#include "report/sample.h"

/*
 * The labels that every sample has, such as its process: fields of struct sample that formats write
 * with a key. One row for each.
 */
struct own_label {
	const char *key;
	unsigned int counted; /* enum profile_labels: which profiles have it; 0: all */
	const char *usual;    /* its usual value as a text; NULL: none */
	/* Returns the value, with the key. False: this sample has none. */
	bool (*get)(const struct sample *sample, struct label *ret);
};

/* Row number i; NULL: no more rows. */
const struct own_label *own_label(size_t i);

/* The value of a sample. False: it has none. */
bool own_label_get(const struct own_label *own, const struct sample *sample, struct label *ret);

/* True if it has its usual value. Formats in which each label takes space leave it out then. */
bool own_label_is_usual(const struct own_label *own, const struct label *label);

/* True if one of them has this key. */
bool own_label_has_key(const char *key);

#endif
