// SPDX-License-Identifier: Apache-2.0
#include "samples/redaction.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Longer results are redacted as a whole. */
#define TEXT_ROOM 2048

static bool has_back_reference(const char *regex)
{
	for (const char *c = strchr(regex, '\\'); c && c[1]; c = strchr(c + 2, '\\'))
		if (isdigit((unsigned char)c[1]))
			return true;
	return false;
}

int redaction_init(struct redaction *ret, const char *regex, char ret_why[REDACTION_WHY_SIZE])
{
	int error;

	*ret = (struct redaction){ 0 };
	if (has_back_reference(regex)) {
		snprintf(ret_why, REDACTION_WHY_SIZE, "back-references are not allowed");
		return -EINVAL;
	}
	error = regcomp(&ret->regex, regex, REG_EXTENDED);
	if (error != 0) {
		regerror(error, &ret->regex, ret_why, REDACTION_WHY_SIZE);
		return -EINVAL;
	}
	ret->is_set = true;
	return 0;
}

void redaction_done(struct redaction *r)
{
	if (r->is_set)
		regfree(&r->regex);
	r->is_set = false;
}

/* A text being written. */
struct output {
	char text[TEXT_ROOM];
	size_t n;
	bool is_full;
};

static void put(struct output *out, const char *text, size_t size)
{
	if (size >= TEXT_ROOM - out->n) {
		out->is_full = true;
		return;
	}
	memcpy(out->text + out->n, text, size);
	out->n += size;
	out->text[out->n] = '\0';
}

/* Returns whether anything matched. A search that fails takes all, as a result without room. */
static bool replace(const regex_t *regex, const char *text, struct output *out)
{
	bool has_matched = false, follows = false;
	const char *at = text, *end = text + strlen(text);
	regmatch_t match = { 0, (regoff_t)(end - text) };
	int error;

	/* Within the whole text, whose beginning decides what \b and the like match. */
	while ((error = regexec(regex, text, 1, &match, REG_STARTEND)) == 0) {
		size_t before = (size_t)(text + match.rm_so - at);
		size_t size = (size_t)(match.rm_eo - match.rm_so);

		if (size == 0) {
			if (at[before] == '\0')
				break;
			put(out, at, before + 1);
			at += before + 1;
			match = (regmatch_t){ (regoff_t)(at - text), (regoff_t)(end - text) };
			follows = false;
			continue;
		}
		put(out, at, before);
		/* Of what has as many matches as characters, not even the length is told. */
		if (!follows || before > 0)
			put(out, REDACTED, strlen(REDACTED));
		at += before + size;
		match = (regmatch_t){ (regoff_t)(at - text), (regoff_t)(end - text) };
		has_matched = follows = true;
	}
	put(out, at, strlen(at));
	if ((error != 0 && error != REG_NOMATCH) || out->is_full) {
		strcpy(out->text, REDACTED);
		return true;
	}
	return has_matched;
}

static int add(const struct redaction *r, const struct label *label, struct label_list *list)
{
	struct output out = { .n = 0 };
	struct label redacted = { .key = label->key, .text = out.text, .probe = label->probe };
	char number[32];

	if (label->text && !label->is_decimal)
		return label_list_add(list,
				      replace(&r->regex, label->text, &out) ? &redacted : label);
	snprintf(number, sizeof(number), "%" PRId64, label->number);
	if (regexec(&r->regex, label->text ?: number, 0, NULL, 0) == REG_NOMATCH)
		return label_list_add(list, label);
	redacted.text = REDACTED;
	return label_list_add(list, &redacted);
}

int redaction_apply(const struct redaction *r, struct label_list *list)
{
	_cleanup_(label_set_freep) struct label_set *set = NULL;
	struct label_list redacted = { .is_cut = list->is_cut };
	struct label label;
	size_t at = 0;
	int err = list->n > 0 ? label_set_new(list, &set) : 0;

	while (err == 0 && label_set_next(set, &at, &label))
		err = add(r, &label, &redacted);
	label_list_done(list);
	*list = redacted;
	return err;
}
