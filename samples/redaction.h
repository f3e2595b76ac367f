/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_REDACTION_H
#define DP_SAMPLES_REDACTION_H

#include <regex.h>
#include <stdbool.h>

#include "report/label_set.h"

/*
 * Takes out of labels what nobody is to see, before anything keeps or writes them: each part of a text
 * that matches, and each number that does, becomes REDACTED.
 */
struct redaction {
	regex_t regex;
	bool is_set; /* there is one */
};

#define REDACTED "<redacted>"
#define REDACTION_WHY_SIZE 256

/*
 * An extended regular expression (regex(7)), without back-references: with these, a text that others
 * have chosen may take any time. 0, or -EINVAL, and what is wrong.
 */
int redaction_init(struct redaction *ret, const char *regex, char ret_why[REDACTION_WHY_SIZE]);
void redaction_done(struct redaction *redaction);

/* Replaces the labels of a list. 0 or -ENOMEM; the list remains the caller's to free. */
int redaction_apply(const struct redaction *redaction, struct label_list *list);

#endif
