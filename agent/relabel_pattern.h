/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_RELABEL_PATTERN_H
#define DP_AGENT_RELABEL_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

/* The regular expression of a rule (relabel.h), and texts made of what its groups matched. */
struct relabel_pattern {
	regex_t regex; /* of all, so its groups have one number more */
	size_t n_groups;
};

/* With the end of a match, and all of it; more groups are refused. */
#define RELABEL_GROUPS 16

struct relabel_match {
	const char *text;
	regmatch_t groups[RELABEL_GROUPS];
};

/*
 * Compiles it. 0, or -EINVAL with the place in the text and the reason, which is in `why` if it is not
 * a constant.
 */
int relabel_pattern_init(struct relabel_pattern *ret, const char *text, size_t *ret_at, char *why,
			 size_t why_size);
void relabel_pattern_done(struct relabel_pattern *pattern);

/* Whether all of the text matches. *ret is valid as long as the text. */
bool relabel_pattern_match(const struct relabel_pattern *pattern, const char *text,
			   struct relabel_match *ret);

/* Checks a text with $1 and ${1}; NULL, or what is wrong at *ret_at. As in Go, $$ is a dollar. */
const char *relabel_template_check(const char *text, size_t n_groups, size_t *ret_at);

/* Fills it in. The caller frees it; NULL: no memory. */
char *relabel_template_expand(const char *text, const struct relabel_match *match);

#endif
