// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_lists.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/uprobe_places.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "probes/argument_place.h"
#include "probes/parameter_source.h"
#include "sandbox/parsers.h"

static int explain(const struct parameter_source *s, uint64_t offset, int err)
{
	if (err == -ENODATA)
		log_error("%s has no debug information of the function at 0x%" PRIx64, s->path,
			  offset);
	else
		log_error("cannot look up parameters in %s: %s", s->path, parsers_explain(err));
	if (err == -ENODATA)
		log_detail(
			"try:  install its debug file, or arg1, arg2->OFFSET:TYPE, ... instead of names and members");
	return err;
}

/* The register for integers has no float that a function has returned. */
static bool has_default(const struct argument *a, const struct parameter *found)
{
	return a->has_default && found->type != VALUE_F64;
}

/* Makes arguments by name such by position, for one place, with names of values that are in *ret. */
static int resolve(struct parameter_source *s, struct arguments *arguments, uint64_t offset,
		   struct parse_result *ret)
{
	struct parameter_wanted wanted[DP_MAX_ARGUMENTS] = { 0 };
	int err;

	arguments_wanted(arguments, wanted);
	err = parameter_source_ask(s, wanted, arguments->n, offset, ret);
	if (err < 0 && err != -ENOMEM && arguments_set_defaults(arguments))
		return 0;
	if (err < 0)
		return explain(s, offset, err);
	for (size_t i = 0; i < arguments->n; i++) {
		if (!ret->parameters[i].why[0] ||
		    has_default(&arguments->of[i], &ret->parameters[i]))
			continue;
		log_error("cannot read %s in the function at 0x%" PRIx64 " of %s: %s",
			  wanted[i].path[0] ? wanted[i].path : wanted[i].length, offset, s->path,
			  ret->parameters[i].why);
		return -EINVAL;
	}
	arguments_resolve(arguments, ret->parameters, ret->names.of);
	return 0;
}

static bool have_same_names(const struct value_form *a, const struct value_form *b)
{
	return a->n_names == b->n_names &&
	       (a->n_names == 0 || memcmp(a->names, b->names, a->n_names * sizeof(*a->names)) == 0);
}

static bool is_same(const struct probe_lists *l, size_t i, const struct dp_arguments *list,
		    const struct value_forms *forms)
{
	if (memcmp(&l->lists[i], list, sizeof(*list)) != 0)
		return false;
	for (size_t j = 0; j < forms->n; j++)
		if (l->forms[i].of[j].type != forms->of[j].type ||
		    !have_same_names(&l->forms[i].of[j], &forms->of[j]))
			return false;
	return true;
}

/* Gives forms names of their own. */
static int keep_names(struct value_forms *forms)
{
	bool failed = false;

	for (size_t i = 0; i < forms->n; i++) {
		struct value_form *f = &forms->of[i];
		size_t size = f->n_names * sizeof(*f->names);
		struct enumerator *own = size > 0 && !failed ? malloc(size) : NULL;

		failed |= size > 0 && !own;
		if (own)
			memcpy(own, f->names, size);
		f->names = own;
	}
	return failed ? -ENOMEM : 0;
}

/* Returns the number of the list, -E2BIG, -ENOSPC, or -ENOMEM. */
static int add_list(struct probe_lists *l, const struct arguments *arguments)
{
	struct value_forms forms;
	struct dp_arguments list;
	size_t i = 0;
	int err;

	memset(&list, 0, sizeof(list));
	err = arguments_describe(arguments, &list, &forms);
	if (err < 0)
		return err;
	while (i < l->n && !is_same(l, i, &list, &forms))
		i++;
	if (i == DP_MAX_ARGUMENT_LISTS)
		return -E2BIG;
	if (i == l->n) {
		l->lists[i] = list;
		l->forms[i] = forms;
		l->n++;
		if (keep_names(&l->forms[i]) < 0)
			return -ENOMEM;
	}
	return (int)i;
}

static int set_list(struct probe_lists *l, const struct arguments *arguments, uint64_t *ret_cookie)
{
	int number = add_list(l, arguments);

	if (number == -E2BIG)
		log_error("the arguments of these functions are in too many different places");
	if (number == -ENOSPC)
		log_error("at most %d values; texts of C++, Rust or Go and bytes count as two",
			  DP_MAX_ARGUMENTS);
	if (number < 0)
		return number;
	*ret_cookie = (uint64_t)number;
	return 0;
}

static int take_too_long(const struct parameter_source *s)
{
	log_error("looking up parameters in %s takes too long", s->path);
	log_detail("try:  a name that fewer functions have, or arg1, arg2, ...");
	return -ETIME;
}

static int make_each(struct parameter_source *s, const struct arguments *arguments,
		     struct uprobe_places *places, struct probe_lists *ret)
{
	const bool have_names = arguments_have_names(arguments);
	const uint64_t end_ns = s->user == 0 ? UINT64_MAX : clock_now_ns() + PROBE_USER_TIME_NS;

	for (size_t i = 0; i < places->n; i++) {
		_cleanup_(parse_result_done) struct parse_result found = { 0 };
		struct arguments own = *arguments;
		int err = have_names ? resolve(s, &own, places->offsets[i], &found) : 0;

		if (err == 0 && have_names && i + 1 < places->n && clock_now_ns() > end_ns)
			err = take_too_long(s);
		if (err == 0)
			err = set_list(ret, &own, &places->cookies[i]);
		if (err < 0)
			return err;
	}
	return 0;
}

/* An error leaves it for probe_lists_done(). */
static int begin(struct uprobe_places *places, struct probe_lists *ret)
{
	size_t room = places->n < DP_MAX_ARGUMENT_LISTS ? places->n : DP_MAX_ARGUMENT_LISTS;

	*ret = (struct probe_lists){ 0 };
	ret->lists = calloc(room, sizeof(*ret->lists));
	ret->forms = calloc(room, sizeof(*ret->forms));
	places->cookies = calloc(places->n, sizeof(*places->cookies));
	return ret->lists && ret->forms && places->cookies ? 0 : -ENOMEM;
}

int probe_lists_make(struct parsers *parsers, uid_t user, const struct arguments *arguments,
		     struct uprobe_places *places, struct probe_lists *ret)
{
	struct parameter_source s = { .parsers = parsers,
				      .user = user,
				      .path = places->path,
				      .fd = places->fd,
				      .debug_fd = -1 };
	int err = begin(places, ret);

	if (err == 0)
		err = make_each(&s, arguments, places, ret);
	parameter_source_done(&s);
	return err;
}

int probe_lists_make_usdt(const struct arguments *arguments, const struct usdt_place *const *of,
			  struct uprobe_places *places, struct probe_lists *ret)
{
	int err = begin(places, ret);

	for (size_t i = 0; err == 0 && i < places->n; i++) {
		struct arguments own = *arguments;
		char why[ARGUMENTS_WHY_SIZE];

		err = arguments_place(&own, of[i], why);
		if (err < 0)
			log_error("cannot read the values of %s:%s in %s: %s", of[i]->provider,
				  of[i]->name, places->path, why);
		else
			err = set_list(ret, &own, &places->cookies[i]);
	}
	return err;
}

/* Returns its number, or an error. */
static int join_list(struct probe_lists *to, struct probe_lists *from, size_t i)
{
	struct value_forms *forms;
	struct dp_arguments *lists;
	size_t number = 0;

	while (number < to->n && !is_same(to, number, &from->lists[i], &from->forms[i]))
		number++;
	if (number < to->n)
		return (int)number;
	if (number == DP_MAX_ARGUMENT_LISTS)
		return -E2BIG;
	lists = reallocarray(to->lists, number + 1, sizeof(*lists));
	forms = reallocarray(to->forms, number + 1, sizeof(*forms));
	to->lists = lists ?: to->lists;
	to->forms = forms ?: to->forms;
	if (!lists || !forms)
		return -ENOMEM;
	lists[number] = from->lists[i];
	forms[number] = from->forms[i];
	from->forms[i] = (struct value_forms){ 0 };
	to->n++;
	return (int)number;
}

int probe_lists_join(struct probe_lists *to, struct probe_lists *from, struct uprobe_places *places)
{
	uint64_t numbers[DP_MAX_ARGUMENT_LISTS];

	for (size_t i = 0; i < from->n; i++) {
		int number = join_list(to, from, i);

		if (number == -E2BIG)
			log_error(
				"the arguments of these functions are in too many different places");
		if (number < 0)
			return number;
		numbers[i] = (uint64_t)number;
	}
	for (size_t i = 0; from->n > 0 && i < places->n; i++)
		places->cookies[i] = numbers[places->cookies[i]];
	return 0;
}

static bool has_number(const struct value_forms *forms, const char *name)
{
	for (size_t i = 0; i < forms->n; i++) {
		enum value_kind kind = value_type_kind(forms->of[i].type);

		if (!forms->of[i].is_length && strcmp(forms->of[i].name, name) == 0)
			return kind == VALUE_IS_UNSIGNED || kind == VALUE_IS_SIGNED;
	}
	return false;
}

bool probe_lists_have_number(const struct probe_lists *l, const char *name, bool in_any)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += has_number(&l->forms[i], name);
	return in_any ? n > 0 : n == l->n;
}

void probe_lists_done(struct probe_lists *l)
{
	free(l->lists);
	value_forms_free(l->forms, l->n);
	*l = (struct probe_lists){ 0 };
}
