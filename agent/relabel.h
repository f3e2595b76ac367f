/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_RELABEL_H
#define DP_AGENT_RELABEL_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/named_labels.h"

/*
 * Rules that keep, drop and change labels, as Prometheus's `relabel_config`, in one line:
 *
 *   source_labels=a,b separator=/ regex=(.*)/x action=replace target_label=c replacement=$1
 *
 * The actions are replace, keep, drop, labelmap, labeldrop, labelkeep, lowercase and uppercase, and
 * the defaults are Prometheus's. A value with spaces is quoted by ' or ". Regular expressions must match the whole
 * text. They are POSIX extended ones with \w \W \s \S \b \B, not RE2: syntax with another meaning in RE2 is refused.
 */
struct relabel {
	struct relabel_rule **rules;
	size_t n, size;
};

struct relabel_error {
	size_t at; /* in the text */
	char why[200];
};

/* Adds a rule. 0, -ENOMEM, or -EINVAL with *ret set. */
int relabel_add(struct relabel *relabel, const char *text, struct relabel_error *ret);
void relabel_done(struct relabel *relabel);

/* Whether both have the same rules, as they were written. Accept NULL. */
bool relabel_is_same(const struct relabel *a, const struct relabel *b);

/* Whether the rules' result may depend on the label with this (Prometheus's) name. NULL: no rules. */
bool relabel_reads(const struct relabel *relabel, const char *name);

/*
 * Applies the rules in their order; NULL: none. *ret is false if one of them drops what has these
 * labels, or keeps only others. 0 or -ENOMEM.
 */
int relabel_apply(const struct relabel *relabel, struct named_labels *labels, bool *ret);

#endif
