// SPDX-License-Identifier: Apache-2.0
#include "samples/label_values.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sum.h"
#include "base/text.h"
#include "samples/call_table.h"
#include "samples/probed_code.h"
#include "samples/value_table.h"

#define UNREAD "<unread>"
#define UNKNOWN "<unknown>"
#define CUT "…"

/* The words of a record, and how many of them are left. */
struct words {
	const __u64 *at;
	size_t left;
};

#define LONGEST_CHARACTER 4

/* Without the last character of UTF-8, which may have been cut, unless it is one byte. */
static size_t whole_size(const char *text, size_t size)
{
	size_t begin = size;

	while (begin > 0 && size - begin < LONGEST_CHARACTER - 1 &&
	       (text[begin - 1] & 0xc0) == 0x80)
		begin--;
	return begin > 0 && (text[begin - 1] & 0xc0) == 0xc0 ? begin - 1 : size;
}

#define ESCAPED_SIZE 4

/* Writes bytes that are no characters of a text as \xHH. */
static void escape(const char *text, size_t size, char *to)
{
	for (size_t i = 0; i < size;) {
		uint32_t c;
		size_t n = text_character(text + i, &c);

		if (n > 0 && n <= size - i && text[i]) {
			memcpy(to, text + i, n);
			to += n;
			i += n;
		} else {
			to += snprintf(to, ESCAPED_SIZE + 1, "\\x%02x", (unsigned char)text[i++]);
		}
	}
	*to = '\0';
}

/* Takes a text of `size` bytes from the words. */
static int add_text(struct label_list *list, const struct value_form *form, struct words *words,
		    uint64_t size, bool is_cut)
{
	char text[DP_TEXT_CUT + 1], escaped[DP_TEXT_CUT * ESCAPED_SIZE + sizeof(CUT)];
	size_t n_words = (size + sizeof(*words->at) - 1) / sizeof(*words->at);

	if (size > DP_TEXT_CUT || n_words > words->left)
		return -EBADMSG;
	memcpy(text, words->at, size);
	text[size] = '\0';
	words->at += n_words;
	words->left -= n_words;
	escape(text, is_cut ? whole_size(text, size) : size, escaped);
	if (is_cut)
		strcat(escaped, CUT);
	list->is_cut |= is_cut;
	return label_list_add(list, &(struct label){ .key = form->name, .text = escaped });
}

/* As few digits as make it the same again. Returns whether it is a number. */
static bool print_float(enum value_type type, uint64_t word, char *to, size_t size)
{
	const bool is_short = value_type_size(type) == sizeof(float);
	const uint32_t half = (uint32_t)word;
	double value;
	float single;

	memcpy(&single, &half, sizeof(single));
	memcpy(&value, &word, sizeof(value));
	if (is_short)
		value = single;
	for (int digits = is_short ? FLT_DIG : DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
		snprintf(to, size, "%.*g", digits, value);
		if (is_short ? strtof(to, NULL) == single : strtod(to, NULL) == value)
			break;
	}
	return isfinite(value);
}

/* Writes a value that is no number of a label, and no text of the program. */
static void print(enum value_kind kind, uint64_t value, char *to, size_t size)
{
	if (kind == VALUE_IS_HEX)
		snprintf(to, size, "0x%" PRIx64, value);
	else if (kind == VALUE_IS_BOOL)
		snprintf(to, size, "%s", value ? "true" : "false");
	else if (kind == VALUE_IS_CHAR && isprint((int)value))
		snprintf(to, size, "%c", (char)value);
	else if (kind == VALUE_IS_CHAR)
		snprintf(to, size, "\\x%02" PRIx64, value);
	else
		snprintf(to, size, "%" PRIu64, value);
}

static int add_word(struct label_list *list, const struct value_form *form, uint64_t word)
{
	enum value_kind kind = value_type_kind(form->type);
	uint64_t value = value_type_extend(form->type, word);
	struct label label = { .key = form->name, .unit = form->unit };
	char text[32];

	if (form->zero_is_none && word == 0)
		return 0;
	label.text = enumerator_name(form->names, form->n_names, value);
	if (label.text)
		return label_list_add(list, &label);
	if (kind == VALUE_IS_SIGNED || (kind == VALUE_IS_UNSIGNED && value <= INT64_MAX)) {
		label.number = (int64_t)value;
		return label_list_add(list, &label);
	}
	if (kind == VALUE_IS_FLOAT)
		label.is_decimal = print_float(form->type, value, text, sizeof(text));
	else
		print(kind, value, text, sizeof(text));
	label.text = text;
	return label_list_add(list, &label);
}

static int add_value(struct label_list *list, const struct value_form *form,
		     const struct dp_values *values, size_t i, struct words *words)
{
	uint64_t word;

	if (words->left == 0)
		return -EBADMSG;
	word = *words->at++;
	words->left--;
	if (values->unread >> i & 1)
		return label_list_add(list, &(struct label){ .key = form->name, .text = UNREAD });
	if (values->texts >> i & 1)
		return add_text(list, form, words, word, values->cut >> i & 1);
	return add_word(list, form, word);
}

/* Passes over a value, whose word is *ret_word. False: the record is too short. */
static bool skip_value(const struct dp_values *values, size_t i, struct words *words,
		       uint64_t *ret_word)
{
	size_t n = 1;

	if (words->left == 0)
		return false;
	*ret_word = *words->at;
	if (values->texts >> i & 1)
		n += (*ret_word + sizeof(*words->at) - 1) / sizeof(*words->at);
	if (n > words->left)
		return false;
	words->at += n;
	words->left -= n;
	return true;
}

/* The values of a sample, and their forms. */
struct values {
	const struct dp_values *head;    /* NULL: it has none */
	const struct value_forms *forms; /* NULL: not known */
	struct words words;
	size_t n;
};

static void values_open(struct values *v, const struct value_forms *forms)
{
	const size_t head_words = sizeof(struct dp_values) / sizeof(__u64);

	v->forms = forms;
	v->words.at = (const void *)(v->head + 1);
	v->words.left = v->head->part.size / sizeof(__u64) - head_words;
	v->n = v->head->n < forms->n ? v->head->n : forms->n;
}

static struct values values_of(const struct value_labels *labels, const struct dp_values *head)
{
	struct values v = { .head = head };

	if (v.head && v.head->list < labels->n_lists)
		values_open(&v, &labels->lists[v.head->list]);
	return v;
}

const struct own_number *own_number_find(const struct own_number *numbers, size_t n,
					 const struct value_form *form)
{
	for (size_t i = 0; !form->is_length && i < n; i++)
		if (strcmp(numbers[i].name, form->name) == 0)
			return &numbers[i];
	return NULL;
}

static bool is_number(const struct value_labels *labels, const struct value_form *form)
{
	return own_number_find(labels->numbers, labels->n_numbers, form) != NULL;
}

/*
 * Can it be added up? Else it is a label, as the other values are: what was not in memory, and, as no sum of all
 * may say anything more, what is negative or -1 as an unsigned number.
 */
static bool is_summand(const struct value_form *form, const struct dp_values *values, size_t i,
		       uint64_t word)
{
	return !(values->unread >> i & 1) && value_type_extend(form->type, word) <= SUM_MAX;
}

/* Is it the number that a sample has beside its count? */
static bool is_next_summand(const struct value_labels *labels, const struct values *v, size_t i)
{
	const struct value_form *form = &v->forms->of[i];

	return is_number(labels, form) && v->words.left > 0 &&
	       is_summand(form, v->head, i, *v->words.at);
}

int value_labels_add_unknown(const struct value_forms *forms, struct label_list *list)
{
	size_t n_own = list->n;
	int err = 0;

	for (size_t i = 0; err == 0 && i < forms->n; i++)
		if (!forms->of[i].is_length && !label_list_has_key(list, n_own, forms->of[i].name))
			err = label_list_add(list, &(struct label){ .key = forms->of[i].name,
								    .text = UNKNOWN });
	return err;
}

/* Of a sample without a call of these functions that the kernel knows. */
static int add_unseen(const struct value_labels *labels, const struct probed_code *code,
		      const struct snapshot *snapshot, const struct sample *sample,
		      struct label_list *list)
{
	if (!probed_code_may_run(code, snapshot, sample))
		return 0;
	return value_labels_add_unknown(&labels->lists[code->list], list);
}

/* What the program itself calls so is what it says. */
static int add_each(const struct value_labels *labels, struct values *v, struct label_list *list)
{
	size_t n_own = list->n;
	int err = 0;

	for (size_t i = 0; err == 0 && i < v->n; i++) {
		const struct value_form *form = &v->forms->of[i];

		if (form->is_length)
			continue;
		if (!is_next_summand(labels, v, i) && !label_list_has_key(list, n_own, form->name))
			err = add_value(list, form, v->head, i, &v->words);
		else if (!skip_value(v->head, i, &v->words, &(uint64_t){ 0 }))
			err = -EBADMSG;
	}
	/* A damaged record must not end the profile. */
	list->is_cut |= err == -EBADMSG;
	return err == -EBADMSG ? 0 : err;
}

static int add_thrown(const struct value_labels *labels, const struct named_sample *named,
		      struct label_list *list)
{
	struct values v = { .head = sample_thrown(named) };

	if (!v.head || !labels->thrown)
		return 0;
	values_open(&v, labels->thrown);
	return add_each(labels, &v, list);
}

static int add_added(const struct value_labels *labels, const struct named_sample *named,
		     struct label_list *list)
{
	struct values v = { .head = sample_values(named) };
	const struct value_forms *forms;
	const char *probe;
	int err = 0;

	/* Else the program could say that it was another probe. */
	label_list_remove(list, VALUE_TABLE_PROBE);
	if (!v.head)
		return 0;
	forms = value_table_lock(labels->added, v.head->list, &probe);
	list->is_cut |= !forms;
	if (forms) {
		values_open(&v, forms);
		err = label_list_add(list,
				     &(struct label){ .key = VALUE_TABLE_PROBE, .text = probe });
		if (err == 0)
			err = add_each(labels, &v, list);
	}
	value_table_unlock(labels->added);
	return err;
}

static int add_known_call(const struct value_labels *labels, const struct dp_values *head,
			  struct label_list *list)
{
	struct values v = { .head = head };
	const char *probe;
	const struct value_forms *forms = value_table_lock(labels->added, head->list, &probe);
	int err = 0;

	list->is_cut |= !forms;
	if (forms) {
		values_open(&v, forms);
		err = add_each(labels, &v, list);
	}
	value_table_unlock(labels->added);
	return err;
}

static bool is_known(const struct dp_values *head)
{
	return head && !head->is_unknown;
}

/* The kernel has walked none or some of the stack, and has sent the call that it may be in: is it? */
static bool is_guess_right(const struct probed_code *code, const struct label_context *c,
			   const struct dp_values *head)
{
	const __u64 *end = (const void *)((const char *)head + head->part.size);
	size_t place;

	return c->walked && c->cfas && head->part.size >= sizeof(*head) + sizeof(*end) &&
	       end[-1] != 0 &&
	       end[-1] == probed_code_cfa(code, c->walked, c->sample, c->cfas, &place) &&
	       head->is_unknown == DP_CALL_GUESSED(code->places.of[place].id);
}

static bool has_values(const struct probed_code *code, const struct label_context *c,
		       const struct dp_values *head)
{
	return is_known(head) || (head && is_guess_right(code, c, head));
}

/*
 * Is a call on the stack that is not the one whose values the kernel knows, if any? Outside of a probe's time, it
 * does not matter.
 */
static bool is_call_unknown(const struct call_period *period, const struct label_context *c,
			    const struct dp_values *head)
{
	if (has_values(&period->code, c, head))
		return c->walked && probed_code_may_hide(&period->code, c->walked, c->sample);
	if (c->walked)
		return probed_code_may_run(&period->code, c->walked, c->sample);
	return head != NULL;
}

/* A bit of *ret_known for each probe whose call is known. */
static int add_unknown_calls(const struct value_labels *labels, const struct label_context *c,
			     struct label_list *list, unsigned int *ret_known)
{
	const struct call_period *periods[DP_MAX_LABEL_PROBES];
	const struct dp_sample *raw = &c->named->sample;
	int err = 0;

	*ret_known = 0;
	(void)call_table_lock(labels->calls, raw->time_ns, raw->pid, periods);
	for (unsigned int i = 0; err == 0 && i < DP_MAX_LABEL_PROBES; i++) {
		const struct dp_values *head = sample_call(c->named, i);
		size_t from = list->n;

		if (periods[i] && !periods[i]->is_timed && is_call_unknown(periods[i], c, head))
			err = value_labels_add_unknown(&periods[i]->forms, list);
		else if (periods[i] && has_values(&periods[i]->code, c, head))
			*ret_known |= 1U << i;
		label_list_mark(list, from, i + 1);
	}
	call_table_unlock(labels->calls);
	return err;
}

static int add_added_calls(const struct value_labels *labels, const struct label_context *c,
			   struct label_list *list)
{
	unsigned int known;
	int err = add_unknown_calls(labels, c, list, &known);

	for (unsigned int i = 0; err == 0 && i < DP_MAX_LABEL_PROBES; i++) {
		size_t from = list->n;

		if (known >> i & 1)
			err = add_known_call(labels, sample_call(c->named, i), list);
		label_list_mark(list, from, i + 1);
	}
	return err;
}

/* Of a probe whose hits are samples. */
static int add_hit(const struct value_labels *labels, const struct named_sample *named,
		   struct label_list *list)
{
	struct values v = values_of(labels, sample_values(named));

	list->is_cut |= v.head && !v.forms;
	return v.forms && v.head->is_unknown ? value_labels_add_unknown(v.forms, list) :
					       add_each(labels, &v, list);
}

/* Of the i-th probe whose calls label samples. */
static int add_call(const struct value_labels *labels, size_t i, const struct label_context *c,
		    struct label_list *list)
{
	const struct probed_code *code = &labels->code[i];
	struct values v = values_of(labels, sample_call(c->named, (unsigned int)i));

	if (!has_values(code, c, v.head)) {
		if (c->walked)
			return add_unseen(labels, code, c->walked, c->sample, list);
		return v.head ? value_labels_add_unknown(&labels->lists[code->list], list) : 0;
	}
	list->is_cut |= !v.forms;
	if (c->walked && probed_code_may_hide(code, c->walked, c->sample))
		return value_labels_add_unknown(&labels->lists[code->list], list);
	return add_each(labels, &v, list);
}

static int add(const struct label_source *source, const struct label_context *context,
	       struct label_list *list)
{
	const struct value_labels *labels = source->arg;
	int err = add_thrown(labels, context->named, list);

	if (err == 0 && labels->added)
		return context->named->sample.event == DP_EVENT_UPROBE ?
			       add_added(labels, context->named, list) :
			       add_added_calls(labels, context, list);
	if (err < 0 || labels->are_of_spans)
		return err;
	if (!labels->code)
		return add_hit(labels, context->named, list);
	for (size_t i = 0; err == 0 && i < labels->n_code; i++) {
		size_t from = list->n;

		err = add_call(labels, i, context, list);
		label_list_mark(list, from, (unsigned int)i + 1);
	}
	return err;
}

int value_labels_add_call(const struct value_labels *labels, const struct dp_values *values,
			  struct label_list *list)
{
	size_t from = list->n;
	struct values v;
	int err;

	if (!values)
		return labels->added || labels->n_lists == 0 ?
			       0 :
			       value_labels_add_unknown(&labels->lists[0], list);
	if (labels->added) {
		err = add_known_call(labels, values, list);
	} else {
		v = values_of(labels, values);
		list->is_cut |= labels->n_lists > 0 && !v.forms;
		err = add_each(labels, &v, list);
	}
	label_list_mark(list, from, VALUE_LABELS_SPAN);
	return err;
}

int value_labels_of_resting(const struct value_labels *labels, const struct snapshot *snapshot,
			    const struct sample *sample, struct label_set **ret)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	int err = 0;

	*ret = NULL;
	list.is_cut = snapshot && snapshot_has_labels(snapshot, DP_LABELS_OF_THREADS);
	if (labels && !labels->are_of_spans && snapshot)
		for (size_t i = 0; err == 0 && i < labels->n_code; i++)
			err = add_unseen(labels, &labels->code[i], snapshot, sample, &list);
	if (err < 0 || (list.n == 0 && !list.is_cut))
		return err;
	return label_set_new(&list, ret);
}

uint64_t value_labels_number(const struct value_labels *labels, const struct named_sample *named)
{
	struct values v;
	uint64_t word = 0;

	if (!labels || labels->n_numbers == 0)
		return 0;
	v = values_of(labels, sample_values(named));
	for (size_t i = 0; i < v.n; i++) {
		const struct value_form *form = &v.forms->of[i];

		if (form->is_length)
			continue;
		if (!skip_value(v.head, i, &v.words, &word))
			return 0;
		if (!is_number(labels, form))
			continue;
		return is_summand(form, v.head, i, word) ? value_type_extend(form->type, word) : 0;
	}
	return 0;
}

bool value_labels_own(const struct value_labels *labels, size_t list, struct own_number *ret)
{
	for (size_t i = 0; list < labels->n_lists && i < labels->lists[list].n; i++) {
		const struct value_form *form = &labels->lists[list].of[i];
		const struct own_number *number =
			own_number_find(labels->numbers, labels->n_numbers, form);

		if (!number)
			continue;
		*ret = *number;
		if (!ret->unit)
			ret->unit = form->unit;
		return true;
	}
	return false;
}

const char *value_labels_unit(const struct value_labels *labels, size_t list, const char *name)
{
	const struct value_forms *forms = list < labels->n_lists ? &labels->lists[list] : NULL;

	for (size_t i = 0; forms && i < forms->n; i++)
		if (!forms->of[i].is_length && strcmp(forms->of[i].name, name) == 0)
			return forms->of[i].unit ?: "";
	return "";
}

static void mark_added(const struct value_labels *labels, const struct snapshot *snapshot,
		       const struct sample *sample, struct frame *frames)
{
	const struct call_period *periods[DP_MAX_LABEL_PROBES];
	const struct call_period *timed =
		call_table_lock(labels->calls, sample->time_ns, (uint32_t)sample->pid, periods);

	for (unsigned int i = 0; !timed && i < DP_MAX_LABEL_PROBES; i++)
		if (periods[i])
			probed_code_mark(&periods[i]->code, snapshot, sample, i + 1, false, frames);
	if (timed)
		probed_code_mark(&timed->code, snapshot, sample, VALUE_LABELS_SPAN, true, frames);
	call_table_unlock(labels->calls);
}

void value_labels_mark(const struct value_labels *labels, const struct snapshot *snapshot,
		       const struct sample *sample, struct frame *frames)
{
	if (!labels || !snapshot)
		return;
	if (labels->calls) {
		mark_added(labels, snapshot, sample, frames);
	} else if (labels->are_of_spans || label_set_is_marked(sample->labels)) {
		for (size_t i = 0; i < labels->n_code; i++)
			probed_code_mark(&labels->code[i], snapshot, sample, (unsigned int)i + 1,
					 labels->are_of_spans, frames);
	}
}

void value_forms_free(struct value_forms *lists, size_t n)
{
	for (size_t i = 0; lists && i < n; i++)
		for (size_t j = 0; j < lists[i].n; j++)
			free((void *)lists[i].of[j].names);
	free(lists);
}

void value_labels_init(struct value_labels *ret, const struct value_forms *lists, size_t n)
{
	*ret = (struct value_labels){
		.source = { .name = "values", .arg = ret, .add = add },
		.lists = lists,
		.n_lists = n,
	};
}
