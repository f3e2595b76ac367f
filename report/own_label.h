/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_OWN_LABEL_H
#define DP_REPORT_OWN_LABEL_H

#include "report/sample.h"

/*
 * The labels that every sample has by itself, such as its process: the fields of struct sample
 * that formats write by a key. One row each; formats take them from here.
 */
struct own_label {
	const char *key;
	unsigned int counted; /* enum profile_labels: which profiles know it; 0: all */
	const char *usual;    /* what it nearly always is, as a text; NULL: nothing is */
	/* The value, with the key. False: this sample has none. */
	bool (*get)(const struct sample *sample, struct label *ret);
};

/* Row number i; NULL: there are no more. */
const struct own_label *own_label(size_t i);

/* The value of a sample. False: it has none. */
bool own_label_get(const struct own_label *own, const struct sample *sample, struct label *ret);

/* Is this what it nearly always is? Formats that pay for each label leave it out. */
bool own_label_is_usual(const struct own_label *own, const struct label *label);

/* Has one of them this key? */
bool own_label_has_key(const char *key);

#endif
