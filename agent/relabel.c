// SPDX-License-Identifier: Apache-2.0
#include "agent/relabel.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/relabel_pattern.h"
#include "base/array.h"
#include "base/cleanup.h"

enum action {
	ACTION_REPLACE,
	ACTION_KEEP,
	ACTION_DROP,
	ACTION_LABELMAP,
	ACTION_LABELDROP,
	ACTION_LABELKEEP,
	ACTION_LOWERCASE,
	ACTION_UPPERCASE,
};

enum field {
	FIELD_ACTION,
	FIELD_SOURCE,
	FIELD_SEPARATOR,
	FIELD_REGEX,
	FIELD_TARGET,
	FIELD_REPLACEMENT
};

#define FIELD_BIT(field) (1U << (field))
#define N_FIELDS 6

static const char *const field_names[N_FIELDS] = { "action", "source_labels", "separator",
						   "regex",  "target_label",  "replacement" };

/* What an action takes, and cannot do without. */
static const struct {
	const char *name;
	unsigned int takes, needs;
} actions[] = {
#define SOURCE (FIELD_BIT(FIELD_SOURCE) | FIELD_BIT(FIELD_SEPARATOR))
	[ACTION_REPLACE] = { "replace",
			     SOURCE | FIELD_BIT(FIELD_REGEX) | FIELD_BIT(FIELD_TARGET) |
				     FIELD_BIT(FIELD_REPLACEMENT),
			     FIELD_BIT(FIELD_TARGET) },
	[ACTION_KEEP] = { "keep", SOURCE | FIELD_BIT(FIELD_REGEX),
			  FIELD_BIT(FIELD_SOURCE) | FIELD_BIT(FIELD_REGEX) },
	[ACTION_DROP] = { "drop", SOURCE | FIELD_BIT(FIELD_REGEX),
			  FIELD_BIT(FIELD_SOURCE) | FIELD_BIT(FIELD_REGEX) },
	[ACTION_LABELMAP] = { "labelmap", FIELD_BIT(FIELD_REGEX) | FIELD_BIT(FIELD_REPLACEMENT),
			      FIELD_BIT(FIELD_REGEX) },
	[ACTION_LABELDROP] = { "labeldrop", FIELD_BIT(FIELD_REGEX), FIELD_BIT(FIELD_REGEX) },
	[ACTION_LABELKEEP] = { "labelkeep", FIELD_BIT(FIELD_REGEX), FIELD_BIT(FIELD_REGEX) },
	[ACTION_LOWERCASE] = { "lowercase", SOURCE | FIELD_BIT(FIELD_TARGET),
			       FIELD_BIT(FIELD_SOURCE) | FIELD_BIT(FIELD_TARGET) },
	[ACTION_UPPERCASE] = { "uppercase", SOURCE | FIELD_BIT(FIELD_TARGET),
			       FIELD_BIT(FIELD_SOURCE) | FIELD_BIT(FIELD_TARGET) },
#undef SOURCE
};

struct relabel_rule {
	char *text; /* as it was written */
	enum action action;
	char *values[N_FIELDS]; /* NULL: not given */
	size_t at[N_FIELDS];    /* of the values in the text */
	struct relabel_pattern pattern;
	bool has_pattern;
};

static int fail(struct relabel_error *error, size_t at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct relabel_error *error, size_t at, const char *format, ...)
{
	va_list args;

	error->at = at;
	va_start(args, format);
	vsnprintf(error->why, sizeof(error->why), format, args);
	va_end(args);
	return -EINVAL;
}

static struct relabel_rule *rule_free(struct relabel_rule *rule)
{
	if (!rule)
		return NULL;
	if (rule->has_pattern)
		relabel_pattern_done(&rule->pattern);
	for (size_t i = 0; i < N_FIELDS; i++)
		free(rule->values[i]);
	free(rule->text);
	free(rule);
	return NULL;
}
DEFINE_CLEANUP(struct relabel_rule *, rule_free)

/* A value ends with a space, or its quote. Returns its end; 0: there is no quote. */
static size_t find_value(const char *text, size_t *begin, size_t *size)
{
	char quote = text[*begin];
	const char *end;

	if (quote != '"' && quote != '\'') {
		*size = strcspn(text + *begin, " \t");
		return *begin + *size;
	}
	end = strchr(text + ++*begin, quote);
	if (!end)
		return 0;
	*size = (size_t)(end - text) - *begin;
	return (size_t)(end - text) + 1;
}

static int find_field(const char *text, size_t at, size_t size, struct relabel_error *error)
{
	for (int i = 0; i < N_FIELDS; i++)
		if (strlen(field_names[i]) == size && memcmp(field_names[i], text + at, size) == 0)
			return i;
	return fail(error, at,
		    "unknown word '%.*s'; a rule has action, source_labels, separator, regex, "
		    "target_label, replacement",
		    (int)(size < 40 ? size : 40), text + at);
}

/* Reads `name=value` at *at, which is moved behind it. */
static int parse_field(struct relabel_rule *rule, size_t *at, struct relabel_error *error)
{
	const char *text = rule->text;
	size_t n = strcspn(text + *at, "= \t"), begin = *at + n + 1, size, end;
	int field;

	if (text[*at + n] != '=')
		return fail(error, *at, "a rule consists of NAME=VALUE, such as action=drop");
	field = find_field(text, *at, n, error);
	if (field < 0)
		return field;
	if (rule->values[field])
		return fail(error, *at, "%s is given twice", field_names[field]);
	end = find_value(text, &begin, &size);
	if (end == 0)
		return fail(error, begin - 1, "this quote has no end");
	if (text[end] && text[end] != ' ' && text[end] != '\t')
		return fail(error, end, "a space is missing after the quote");
	rule->at[field] = begin;
	rule->values[field] = strndup(text + begin, size);
	*at = end;
	return rule->values[field] ? 0 : -ENOMEM;
}

static int parse_action(struct relabel_rule *rule, struct relabel_error *error)
{
	const char *name = rule->values[FIELD_ACTION];
	size_t i = 0;

	while (name && i < ARRAY_SIZE(actions) && strcmp(actions[i].name, name) != 0)
		i++;
	if (i == ARRAY_SIZE(actions))
		return fail(error, rule->at[FIELD_ACTION],
			    "unknown action '%.20s'; there are replace, keep, drop, labelmap, "
			    "labeldrop, labelkeep, lowercase and uppercase",
			    name);
	rule->action = (enum action)i;
	for (int k = 1; k < N_FIELDS; k++) {
		if (!rule->values[k] && actions[i].needs & FIELD_BIT(k))
			return fail(error, 0, "%s needs %s", actions[i].name, field_names[k]);
		if (rule->values[k] && !(actions[i].takes & FIELD_BIT(k)))
			return fail(error, rule->at[k], "%s takes no %s", actions[i].name,
				    field_names[k]);
	}
	return 0;
}

/* Prometheus's, or with dots, OpenTelemetry's. */
static bool is_name(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!isascii(text[i]) || (!isalpha(text[i]) && text[i] != '_' &&
					  (i == 0 || (!isdigit(text[i]) && text[i] != '.'))))
			return false;
	return size > 0;
}

/* As a list in YAML, too: [a, b]. Leaves names with a comma between them. */
static int parse_source(struct relabel_rule *rule, struct relabel_error *error)
{
	char *list = rule->values[FIELD_SOURCE], *to = list;
	size_t size = strlen(list);
	const char *from = list;

	if (size >= 2 && list[0] == '[' && list[size - 1] == ']') {
		list[size - 1] = '\0';
		from++;
	}
	for (;;) {
		size_t n;

		from += strspn(from, " ");
		n = strcspn(from, ", ");
		if (!is_name(from, n))
			return fail(error, rule->at[FIELD_SOURCE] + (size_t)(from - list),
				    "'%.*s' is no label's name", (int)(n < 40 ? n : 40), from);
		memmove(to, from, n);
		to += n;
		from += n + strspn(from + n, " ");
		if (*from != ',')
			break;
		*to++ = *from++;
	}
	if (*from)
		return fail(error, rule->at[FIELD_SOURCE] + (size_t)(from - list),
			    "a comma is missing");
	*to = '\0';
	return 0;
}

static const char *value(const struct relabel_rule *rule, enum field field, const char *usual)
{
	return rule->values[field] ? rule->values[field] : usual;
}

static int parse_pattern(struct relabel_rule *rule, struct relabel_error *error)
{
	size_t at = 0;
	int err = relabel_pattern_init(&rule->pattern, value(rule, FIELD_REGEX, "(.*)"), &at,
				       error->why, sizeof(error->why));

	error->at = rule->at[FIELD_REGEX] + at;
	rule->has_pattern = err == 0;
	return err;
}

/* The names of the labels that the rule sets. */
static int check_target(const struct relabel_rule *rule, struct relabel_error *error)
{
	enum field field = rule->action == ACTION_LABELMAP ? FIELD_REPLACEMENT : FIELD_TARGET;

	if (named_label_is_fact(value(rule, field, "")))
		return fail(error, rule->at[field], "%s", NAMED_LABELS_FACTS);
	return 0;
}

static int parse_templates(struct relabel_rule *rule, struct relabel_error *error)
{
	static const enum field fields[] = { FIELD_REPLACEMENT, FIELD_TARGET };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *text = value(rule, fields[i], fields[i] == FIELD_TARGET ? "" : "$1");
		bool is_plain = !strchr(text, '$') || rule->action != ACTION_REPLACE;
		const char *wrong;
		size_t at = 0;

		if (fields[i] == FIELD_TARGET && *text && is_plain && !is_name(text, strlen(text)))
			return fail(error, rule->at[fields[i]], "'%.40s' is no label's name", text);
		if (rule->action != ACTION_REPLACE && rule->action != ACTION_LABELMAP)
			continue;
		wrong = relabel_template_check(text, rule->pattern.n_groups, &at);
		if (wrong && rule->values[fields[i]])
			return fail(error, rule->at[fields[i]] + at, "%s", wrong);
		if (wrong)
			return fail(error, 0,
				    "without a group in its regex, this needs replacement");
	}
	return 0;
}

static int parse(struct relabel_rule *rule, struct relabel_error *error)
{
	size_t at = strspn(rule->text, " \t");
	int err = 0;

	if (!rule->text[at])
		return fail(error, 0, "a rule is empty");
	while (err == 0 && rule->text[at]) {
		err = parse_field(rule, &at, error);
		at += err == 0 ? strspn(rule->text + at, " \t") : 0;
	}
	if (err == 0)
		err = parse_action(rule, error);
	if (err == 0 && rule->values[FIELD_SOURCE])
		err = parse_source(rule, error);
	if (err == 0)
		err = parse_pattern(rule, error);
	if (err == 0)
		err = check_target(rule, error);
	return err == 0 ? parse_templates(rule, error) : err;
}

int relabel_add(struct relabel *r, const char *text, struct relabel_error *ret)
{
	_cleanup_(rule_freep) struct relabel_rule *rule = calloc(1, sizeof(*rule));
	int err;

	if (!rule || !(rule->text = strdup(text)) || array_reserve(r->rules, r->n, r->size) < 0)
		return -ENOMEM;
	err = parse(rule, ret);
	if (err == 0)
		r->rules[r->n++] = steal_ptr(rule);
	return err;
}

void relabel_done(struct relabel *r)
{
	for (size_t i = 0; i < r->n; i++)
		rule_free(r->rules[i]);
	free(r->rules);
	*r = (struct relabel){ 0 };
}

bool relabel_is_same(const struct relabel *a, const struct relabel *b)
{
	size_t n = a ? a->n : 0, i = 0;

	if (n != (b ? b->n : 0))
		return false;
	while (i < n && strcmp(a->rules[i]->text, b->rules[i]->text) == 0)
		i++;
	return i == n;
}

static bool is_source(const struct relabel_rule *rule, const char *name)
{
	const char *at = value(rule, FIELD_SOURCE, "");

	while (*at) {
		size_t n = strcspn(at, ",");
		_cleanup_free_ char *one = strndup(at, n),
				    *made = one ? named_label_name(one) : NULL;

		if (!made || strcmp(made, name) == 0)
			return true;
		at += n + (at[n] == ',');
	}
	return false;
}

bool relabel_reads(const struct relabel *r, const char *name)
{
	struct relabel_match match;

	for (size_t i = 0; r && i < r->n; i++)
		if (is_source(r->rules[i], name) ||
		    (r->rules[i]->action == ACTION_LABELMAP &&
		     relabel_pattern_match(&r->rules[i]->pattern, name, &match)))
			return true;
	return false;
}

/* The values of the source labels; NULL: no memory. */
static char *join_source(const struct relabel_rule *rule, const struct named_labels *labels)
{
	const char *name = value(rule, FIELD_SOURCE, "");
	char *joined = NULL;
	size_t size;
	FILE *to = open_memstream(&joined, &size);

	while (to && *name) {
		_cleanup_free_ char *one = strndup(name, strcspn(name, ","));

		if (one)
			fputs(named_labels_get(labels, one), to);
		name += strcspn(name, ",");
		if (*name++ != ',')
			break;
		fputs(value(rule, FIELD_SEPARATOR, ";"), to);
	}
	if (to && fclose(to) == 0)
		return joined;
	free(joined);
	return NULL;
}

static int replace(const struct relabel_rule *rule, const char *source, struct named_labels *labels)
{
	_cleanup_free_ char *target = NULL, *replacement = NULL;
	struct relabel_match match;

	if (!relabel_pattern_match(&rule->pattern, source, &match))
		return 0;
	target = relabel_template_expand(rule->values[FIELD_TARGET], &match);
	replacement = relabel_template_expand(value(rule, FIELD_REPLACEMENT, "$1"), &match);
	if (!target || !replacement)
		return -ENOMEM;
	return is_name(target, strlen(target)) ? named_labels_set(labels, target, replacement) : 0;
}

/* Finds the names that match, and what they become, with their values. */
static int find_mapped(const struct relabel_rule *rule, const struct named_labels *labels,
		       struct named_labels *ret)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < labels->n; i++) {
		_cleanup_free_ char *name = NULL;
		struct relabel_match match;

		if (!relabel_pattern_match(&rule->pattern, labels->items[i].name, &match))
			continue;
		name = relabel_template_expand(value(rule, FIELD_REPLACEMENT, "$1"), &match);
		if (!name)
			return -ENOMEM;
		if (is_name(name, strlen(name)))
			err = named_labels_set(ret, name, labels->items[i].value);
	}
	return err;
}

/* In two passes: a label that is added may take the place of another one. */
static int map_names(const struct relabel_rule *rule, struct named_labels *labels)
{
	struct named_labels mapped = { 0 };
	int err = find_mapped(rule, labels, &mapped);

	for (size_t i = 0; err == 0 && i < mapped.n; i++)
		err = named_labels_set(labels, mapped.items[i].name, mapped.items[i].value);
	named_labels_done(&mapped);
	return err;
}

static void drop_names(const struct relabel_rule *rule, struct named_labels *labels)
{
	struct relabel_match match;
	size_t i = labels->n;

	while (i-- > 0)
		if (relabel_pattern_match(&rule->pattern, labels->items[i].name, &match) ==
		    (rule->action == ACTION_LABELDROP))
			named_labels_remove(labels, i);
}

static int change_case(const struct relabel_rule *rule, char *source, struct named_labels *labels)
{
	for (char *at = source; *at; at++)
		if (isascii(*at))
			*at = (char)(rule->action == ACTION_LOWERCASE ? tolower(*at) :
									toupper(*at));
	return named_labels_set(labels, rule->values[FIELD_TARGET], source);
}

static int apply(const struct relabel_rule *rule, struct named_labels *labels, bool *ret_keep)
{
	_cleanup_free_ char *source = join_source(rule, labels);
	struct relabel_match match;

	if (!source)
		return -ENOMEM;
	switch (rule->action) {
	case ACTION_REPLACE:
		return replace(rule, source, labels);
	case ACTION_KEEP:
	case ACTION_DROP:
		*ret_keep = relabel_pattern_match(&rule->pattern, source, &match) ==
			    (rule->action == ACTION_KEEP);
		return 0;
	case ACTION_LABELMAP:
		return map_names(rule, labels);
	case ACTION_LABELDROP:
	case ACTION_LABELKEEP:
		drop_names(rule, labels);
		return 0;
	case ACTION_LOWERCASE:
	case ACTION_UPPERCASE:
		return change_case(rule, source, labels);
	}
	return 0;
}

int relabel_apply(const struct relabel *r, struct named_labels *labels, bool *ret)
{
	int err = 0;

	*ret = true;
	for (size_t i = 0; err == 0 && *ret && r && i < r->n; i++)
		err = apply(r->rules[i], labels, ret);
	return err;
}
