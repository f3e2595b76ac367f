/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_REDACTION_H
#define DP_SAMPLES_REDACTION_H

#include <regex.h>
#include <stdbool.h>

#include "report/label_set.h"

/*
 * Removes secrets from labels before anything stores or writes them: each matching part of a text, and each
 * matching number, becomes REDACTED.
 */
struct redaction {
	regex_t regex;
	bool is_set; /* there is one */
};

#define REDACTED "<redacted>"
#define REDACTION_WHY_SIZE 256

/*
 * An extended regular expression (regex(7)), without back-references, with which matching an untrusted text
 * may take unlimited time. 0, or -EINVAL and the reason.
 */
int redaction_init(struct redaction *ret, const char *regex, char ret_why[REDACTION_WHY_SIZE]);
void redaction_done(struct redaction *redaction);

/* Replaces the labels of a list. 0 or -ENOMEM; the list remains the caller's to free. */
int redaction_apply(const struct redaction *redaction, struct label_list *list);

#endif
