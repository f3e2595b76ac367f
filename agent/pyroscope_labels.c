// SPDX-License-Identifier: Apache-2.0
#include "agent/pyroscope_labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/named_labels.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "report/outcome.h"
#include "report/report.h"
#include "report/resource_label.h"

#define CUT "…"

/* Names with a meaning; it takes profile_id for span_id. */
#define COMM "comm"
#define THREAD_NAME "thread_name"
#define STATE "state"
static const char *const taken[] = { COMM,          THREAD_NAME,    STATE,
				     LABEL_SPAN_ID, LABEL_TRACE_ID, "profile_id" };

static bool is_sent(const struct named_label *label)
{
	return !named_label_is_internal(label) && !named_label_is_fact(label->key);
}

size_t pyroscope_labels_count(const struct named_labels *profile)
{
	size_t n = 0;

	for (size_t i = 0; i < profile->n; i++)
		n += is_sent(&profile->items[i]);
	return n;
}

/* Not within a character. There is room for the mark. */
static void cut(char *value)
{
	size_t n = PYROSCOPE_MAX_VALUE - strlen(CUT);

	if (strlen(value) <= PYROSCOPE_MAX_VALUE)
		return;
	while (n > 0 && ((unsigned char)value[n] & 0xc0) == 0x80)
		n--;
	strcpy(value + n, CUT);
}

static bool is_too_long(const struct named_label *label)
{
	return strlen(label->name) > PYROSCOPE_MAX_NAME;
}

/* From the last one on, until there are not too many. */
static void remove_last(struct named_labels *profile, bool of_programs)
{
	size_t n = pyroscope_labels_count(profile);

	for (size_t i = profile->n; i-- > 0 && n > PYROSCOPE_PROFILE_LABELS;) {
		const struct named_label *label = &profile->items[i];

		if (!is_sent(label) || (of_programs && !label->is_programs))
			continue;
		named_labels_remove(profile, i);
		n--;
	}
}

void pyroscope_labels_bound(struct named_labels *profile)
{
	for (size_t i = profile->n; i-- > 0;)
		if (is_sent(&profile->items[i]) && is_too_long(&profile->items[i]))
			named_labels_remove(profile, i);
	remove_last(profile, true);
	remove_last(profile, false);
	for (size_t i = 0; i < profile->n; i++)
		if (is_sent(&profile->items[i]))
			cut(profile->items[i].value);
}

static bool is_taken(const struct label_set *profile, const char *name)
{
	struct label label;
	size_t at = 0;

	if (strncmp(name, "__", 2) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		if (strcmp(taken[i], name) == 0)
			return true;
	while (label_set_next(profile, &at, &label)) {
		_cleanup_free_ char *other = named_label_name(resource_label_plain(label.key));

		if (other && strcmp(other, name) == 0)
			return true;
	}
	return false;
}

/* A name that says something else here gets another one, which may be taken as well. */
static int make_name(const struct label_set *profile, const char *key, char **ret)
{
	_cleanup_free_ char *name = named_label_name(key);

	if (name && strlen(name) > PYROSCOPE_MAX_NAME / 2)
		name[PYROSCOPE_MAX_NAME / 2] = '\0';
	while (name && is_taken(profile, name)) {
		char *other = NULL;

		if (asprintf(&other, "label_%s", name) < 0)
			other = NULL;
		free(name);
		name = other;
	}
	*ret = steal_ptr(name);
	return *ret ? 0 : -ENOMEM;
}

static int add_own(struct label_list *list, const struct label_set *profile,
		   const struct label *label)
{
	_cleanup_free_ char *name = NULL, *value = strdup(label->text);

	if (!value || make_name(profile, label->key, &name) < 0)
		return -ENOMEM;
	cut(value);
	if (label_list_has_key(list, list->n, name))
		return 0;
	return label_list_add(list, &(struct label){ .key = name, .text = value });
}

/* Those that samples without a value of their own have, too. */
static bool is_empty(const struct label *label)
{
	return !label->text || !*label->text || !*label->key;
}

static size_t find_room(const struct label_set *profile)
{
	size_t n = 0, at = 0;
	struct label label;

	while (label_set_next(profile, &at, &label))
		n += label.text && *label.text;
	return n < PYROSCOPE_PROFILE_LABELS ? PYROSCOPE_PROFILE_LABELS - n : 0;
}

int pyroscope_labels_make(const struct label_set *own, const struct label_set *profile,
			  struct label_set **ret)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	size_t room = find_room(profile), n = 0, at = 0;
	struct label label;
	int err = 0;

	*ret = NULL;
	while (err == 0 && label_set_next(own, &at, &label)) {
		size_t before = list.n;

		if (is_empty(&label) || strcmp(label.key, LABEL_TRACE_ID) == 0)
			continue;
		if (strcmp(label.key, LABEL_SPAN_ID) == 0 || strcmp(label.key, REPORT_EVENT) == 0) {
			err = label_list_add(&list, &label);
		} else if (n < room) {
			err = add_own(&list, profile, &label);
			n += list.n - before;
		}
	}
	return err == 0 && list.n > 0 ? label_set_new(&list, ret) : err;
}

static int add_text(struct label_list *list, const char *key, const char *text)
{
	return text && *text ? label_list_add(list, &(struct label){ .key = key, .text = text }) :
			       0;
}

int pyroscope_labels_all(const struct label_set *made, const struct sample *sample, bool has_state,
			 struct label_set **ret)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	struct label label;
	size_t at = 0;
	int err = 0;

	*ret = NULL;
	while (err == 0 && label_set_next(made, &at, &label))
		err = label_list_add(&list, &label);
	if (err == 0)
		err = add_text(&list, COMM, sample->comm);
	if (err == 0)
		err = add_text(&list, THREAD_NAME, sample->thread_name);
	if (err == 0 && has_state && sample->event == DP_EVENT_OFF_CPU)
		err = add_text(&list, STATE, state_text(sample->state));
	return err == 0 ? label_set_new(&list, ret) : err;
}
