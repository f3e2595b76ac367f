// SPDX-License-Identifier: Apache-2.0
#include "profiler/arguments.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

#define X(name) DP_##name,
static const uint8_t registers[] = { DP_ARGUMENT_REGISTERS(X) };
#undef X

struct reader {
	enum probe_kind kind;
	const char *at;
	char *why;
};

static const char *opening_of(const char *function)
{
	size_t depth = 0;

	for (const char *at = function + strlen(function); at-- > function;) {
		depth += *at == ')';
		if (*at == '(' && --depth == 0)
			return at;
	}
	return NULL;
}

static bool is_argument(const char *at, size_t n)
{
	return n > 3 && memcmp(at, "arg", 3) == 0 && strspn(at + 3, "0123456789") == n - 3;
}

#define RESULT "ret"
#define TIME "time"

static bool is_word(const char *at, size_t n, const char *word)
{
	return n == strlen(word) && memcmp(at, word, n) == 0;
}

/* Is this what no list of types has? */
static bool has_mark(const char *list, enum probe_kind kind)
{
	for (const char *at = list; *at; at++) {
		size_t n = strspn(at, NAME_CHARACTERS);

		if (is_argument(at, n) || *at == '=' || strncmp(at, "->", 2) == 0)
			return true;
		if (kind == PROBE_RETURN && (is_word(at, n, RESULT) || is_word(at, n, TIME)))
			return true;
		if (*at == ':' && at[1] != ':' && at[-1] != ':')
			return true;
		at += n > 0 ? n - 1 : 0;
	}
	return false;
}

const char *arguments_find(const char *function, enum probe_kind kind)
{
	size_t length = strlen(function);
	const char *list = length > 0 && function[length - 1] == ')' ? opening_of(function) :
								       strchr(function, '(');

	return list && list > function && has_mark(list + 1, kind) ? list : NULL;
}

static void skip_spaces(struct reader *r)
{
	while (*r->at == ' ')
		r->at++;
}

/* The next characters are these: passes over them. */
static bool take(struct reader *r, const char *text)
{
	size_t n = strlen(text);

	skip_spaces(r);
	if (strncmp(r->at, text, n) != 0)
		return false;
	r->at += n;
	return true;
}

static int fail(const struct reader *r, const char *allowed)
{
	if (*r->at)
		snprintf(r->why, ARGUMENTS_WHY_SIZE, "at '%s': there must be %s", r->at, allowed);
	else
		snprintf(r->why, ARGUMENTS_WHY_SIZE, "at the end: there must be %s", allowed);
	return -EINVAL;
}

static int read_number(struct reader *r, int64_t max, int64_t *ret)
{
	char *end;

	skip_spaces(r);
	errno = 0;
	*ret = strtoll(r->at, &end, 0);
	if (!isdigit((unsigned char)*r->at) || errno != 0 || *ret > max)
		return fail(r, "a number, such as 8 or 0x1c");
	r->at = end;
	return 0;
}

static void set_argument(struct dp_argument *how, int64_t number)
{
	if (number <= (int64_t)ARRAY_SIZE(registers)) {
		how->reg = registers[number - 1];
		return;
	}
	how->reg = DP_REG_SP;
	how->derefs[how->n_derefs++] =
		DP_CALL_SIZE + 8 * (int32_t)(number - 1 - (int64_t)ARRAY_SIZE(registers));
}

#define MAX_NUMBER 64

#define NUMBERED "a value: arg1, arg2, ..., arg12"
#define VALUES "a value: arg1, arg2, ..., or a parameter's name"

/* The length of a parameter's name and those of members, "request->header.host"; 0: it is none. */
static size_t path_length(const char *text)
{
	size_t n = 0, more = strspn(text, NAME_CHARACTERS);

	if (isdigit((unsigned char)*text))
		return 0;
	while (more > 0) {
		size_t next;

		n += more;
		next = text[n] == '.' ? 1 : strncmp(text + n, "->", 2) == 0 ? 2 : 0;
		more = next && !isdigit((unsigned char)text[n + next]) ?
			       strspn(text + n + next, NAME_CHARACTERS) :
			       0;
		more += more > 0 ? next : 0;
	}
	return n;
}

static int read_path(struct reader *r, struct argument *a)
{
	size_t n = path_length(r->at);

	if (n == 0)
		return fail(r, VALUES);
	if (n >= sizeof(a->path))
		return fail(r, "a name of at most 63 characters");
	memcpy(a->path, r->at, n);
	a->form.type = VALUE_N_TYPES;
	r->at += n;
	return 0;
}

static int read_result(struct reader *r, struct argument *a)
{
	size_t n = strspn(r->at, NAME_CHARACTERS);

	if (is_word(r->at, n, TIME)) {
		a->how.base = DP_BASE_TIME;
		a->form.type = VALUE_U64;
		a->form.unit = "nanoseconds";
	} else if (is_word(r->at, n, RESULT)) {
		a->how.reg = DP_REG_RESULT;
	} else {
		return fail(r, "ret, what the function returns, or time, how long it took");
	}
	r->at += n;
	return 0;
}

/* The name of a field, or argN, and of members. */
static int read_field(struct reader *r, struct argument *a)
{
	size_t n = path_length(r->at);

	if (n == 0 || n >= sizeof(a->path))
		return fail(r, "the name of a field, or arg1, arg2, ...");
	if (is_argument(r->at, strspn(r->at, NAME_CHARACTERS)))
		a->number = (unsigned int)strtoul(r->at + 3, NULL, 10);
	memcpy(a->path, r->at, n);
	r->at += n;
	return 0;
}

static int read_base(struct reader *r, struct argument *a)
{
	struct dp_argument *how = &a->how;
	int64_t number = 0;
	size_t n;

	if (r->kind == PROBE_KERNEL)
		return read_field(r, a);
	if (r->kind == PROBE_RETURN)
		return read_result(r, a);
	n = strspn(r->at, NAME_CHARACTERS);
	if (!is_argument(r->at, n))
		return r->kind == PROBE_STATIC ? fail(r, NUMBERED) : read_path(r, a);
	number = strtoll(r->at + 3, NULL, 10);
	if (number < 1 || number > (r->kind == PROBE_STATIC ? USDT_MAX_ARGUMENTS : MAX_NUMBER))
		return fail(r, r->kind == PROBE_STATIC ? NUMBERED : VALUES);
	r->at += n;
	if (r->kind == PROBE_STATIC)
		a->number = (unsigned int)number;
	else
		set_argument(how, number);
	return 0;
}

/* `->8` and `+8`, as often as there are any. */
static int read_steps(struct reader *r, struct dp_argument *how)
{
	for (;;) {
		bool is_deref = take(r, "->");
		int64_t number;
		int err;

		if (!is_deref && !take(r, "+"))
			return 0;
		err = read_number(r, INT32_MAX / 2, &number);
		if (err < 0)
			return err;
		how->add += number;
		if (!is_deref && how->add > INT32_MAX / 2)
			return fail(r, "a smaller sum");
		if (is_deref && how->n_derefs == DP_MAX_DEREFS)
			return fail(r, "at most 8 dereferences");
		if (is_deref) {
			how->derefs[how->n_derefs++] = (int32_t)how->add;
			how->add = 0;
		}
	}
}

static bool has_steps(const struct dp_argument *how)
{
	return how->n_derefs > 0 || how->add != 0;
}

static int read_type(struct reader *r, enum value_type *ret)
{
	_cleanup_free_ char *list = NULL;
	size_t n, size;
	FILE *to;

	skip_spaces(r);
	n = strspn(r->at, NAME_CHARACTERS);
	*ret = value_type_find(r->at, n);
	if (*ret < VALUE_N_TYPES) {
		r->at += n;
		return 0;
	}
	to = open_memstream(&list, &size);
	if (!to)
		return -ENOMEM;
	fputs("a type: ", to);
	value_types_list(to);
	fclose(to);
	return fail(r, list);
}

/* NAME= in front of the value; without it, the value's own text is its name. */
static int read_name(struct reader *r, struct value_form *form)
{
	size_t n;

	skip_spaces(r);
	n = strspn(r->at, NAME_CHARACTERS ".-");
	if (n == 0 || r->at[n + strspn(r->at + n, " ")] != '=')
		return 0;
	if (n >= sizeof(form->name))
		return fail(r, "a name of at most 63 characters");
	memcpy(form->name, r->at, n);
	r->at += n;
	take(r, "=");
	return 0;
}

static void name_by_text(struct value_form *form, const char *from, const char *to)
{
	size_t n = (size_t)(to - from);

	while (n > 0 && from[n - 1] == ' ')
		n--;
	if (n >= sizeof(form->name))
		n = sizeof(form->name) - 1;
	if (form->name[0] == '\0')
		memcpy(form->name, from, n);
}

static int read_argument(struct reader *r, struct argument *ret)
{
	bool is_parameter;
	const char *text;
	int err;

	*ret = (struct argument){ .form = { .type = VALUE_S64, .unit = "" } };
	err = read_name(r, &ret->form);
	if (err < 0)
		return err;
	skip_spaces(r);
	text = r->at;
	err = read_base(r, ret);
	is_parameter = ret->path[0] && r->kind != PROBE_KERNEL;
	if (err == 0 && !is_parameter && ret->how.base == DP_BASE_REGISTER)
		err = read_steps(r, &ret->how);
	if (err < 0)
		return err;
	name_by_text(&ret->form, text, r->at);
	if ((ret->number || r->kind == PROBE_KERNEL) && !has_steps(&ret->how))
		ret->form.type = VALUE_N_TYPES;
	if (take(r, ":"))
		err = read_type(r, &ret->form.type);
	if (err < 0 || ret->form.type == VALUE_N_TYPES || is_parameter)
		return err;
	ret->how.is_text = value_type_kind(ret->form.type) == VALUE_IS_TEXT;
	ret->how.size =
		(uint8_t)(ret->how.is_text || ret->how.add ? sizeof(uint64_t) :
							     value_type_size(ret->form.type));
	return err;
}

int arguments_parse(const char *list, enum probe_kind kind, struct arguments *ret,
		    char ret_why[ARGUMENTS_WHY_SIZE])
{
	struct reader r = { kind, list + 1, ret_why };
	int err = 0;

	*ret = (struct arguments){ 0 };
	do {
		if (ret->n == DP_MAX_ARGUMENTS)
			return fail(&r, "at most 16 values");
		err = read_argument(&r, &ret->of[ret->n++]);
	} while (err == 0 && take(&r, ","));
	if (err == 0 && (!take(&r, ")") || *r.at))
		err = fail(&r, "'->OFFSET', '+OFFSET', ':TYPE', ',' or, at the end, ')'");
	return err;
}

bool arguments_have_time(const struct arguments *arguments)
{
	for (size_t i = 0; i < arguments->n; i++)
		if (arguments->of[i].how.base == DP_BASE_TIME)
			return true;
	return false;
}

bool arguments_have_names(const struct arguments *arguments)
{
	for (size_t i = 0; i < arguments->n; i++)
		if (arguments->of[i].path[0])
			return true;
	return false;
}

void arguments_wanted(const struct arguments *arguments,
		      struct parameter_wanted ret[DP_MAX_ARGUMENTS])
{
	for (size_t i = 0; i < arguments->n; i++) {
		memcpy(ret[i].path, arguments->of[i].path, sizeof(ret[i].path));
		ret[i].type = arguments->of[i].form.type;
	}
}

void arguments_resolve(struct arguments *arguments,
		       const struct parameter parameters[DP_MAX_ARGUMENTS],
		       const struct enumerator *names)
{
	for (size_t i = 0; i < arguments->n; i++) {
		struct argument *a = &arguments->of[i];

		if (!a->path[0])
			continue;
		a->how = parameters[i].how;
		a->form.type = (enum value_type)parameters[i].type;
		a->form.n_names = parameters[i].n_names;
		if (a->form.n_names > 0) {
			a->form.names = names;
			names += a->form.n_names;
		}
		a->path[0] = '\0';
	}
}

/* The steps from an argument of a place, which is a pointer. -EINVAL: they are too many. */
static int join(const struct dp_argument *base, struct dp_argument *steps)
{
	struct dp_argument how = *base;

	if (steps->n_derefs > 0) {
		int64_t first = how.add + steps->derefs[0];

		if (how.n_derefs + steps->n_derefs > DP_MAX_DEREFS || first != (int32_t)first)
			return -EINVAL;
		memcpy(how.derefs + how.n_derefs, steps->derefs,
		       steps->n_derefs * sizeof(*steps->derefs));
		how.derefs[how.n_derefs] = (int32_t)first;
		how.n_derefs += steps->n_derefs;
		how.add = 0;
		how.size = steps->size;
	}
	how.add += steps->add;
	how.is_text = steps->is_text;
	*steps = how;
	return 0;
}

static enum value_type narrow(enum value_type wanted, enum value_type own)
{
	enum value_kind kind = wanted < VALUE_N_TYPES ? value_type_kind(wanted) : VALUE_IS_SIGNED;

	if (wanted == VALUE_N_TYPES)
		return own;
	if (value_type_size(wanted) <= value_type_size(own))
		return wanted;
	return kind == VALUE_IS_HEX ? value_type_of(kind, value_type_size(own)) : own;
}

static int place_one(struct argument *a, const struct usdt_place *place,
		     char why[ARGUMENTS_WHY_SIZE])
{
	const struct usdt_argument *own = &place->arguments[a->number - 1];
	bool is_pointer = has_steps(&a->how) || a->how.is_text;

	if (a->number > place->n_arguments)
		snprintf(why, ARGUMENTS_WHY_SIZE, "it has %u arguments", place->n_arguments);
	else if (own->type >= VALUE_N_TYPES)
		snprintf(why, ARGUMENTS_WHY_SIZE, "it is no integer or not where one can be read");
	else if (is_pointer && value_type_size((enum value_type)own->type) < sizeof(uint64_t))
		snprintf(why, ARGUMENTS_WHY_SIZE, "it is no pointer: it has %zu bytes",
			 value_type_size((enum value_type)own->type));
	else if (join(&own->how, &a->how) < 0)
		snprintf(why, ARGUMENTS_WHY_SIZE, "it takes too many dereferences");
	else if (!is_pointer)
		a->form.type = narrow(a->form.type, (enum value_type)own->type);
	a->number = 0;
	return why[0] ? -EINVAL : 0;
}

int arguments_place(struct arguments *arguments, const struct usdt_place *place,
		    char ret_why[ARGUMENTS_WHY_SIZE])
{
	int err = 0;

	ret_why[0] = '\0';
	for (size_t i = 0; err == 0 && i < arguments->n; i++)
		err = place_one(&arguments->of[i], place, ret_why);
	return err;
}

void arguments_describe(const struct arguments *arguments, struct dp_arguments *ret,
			struct value_forms *ret_forms)
{
	*ret = (struct dp_arguments){ .n = (uint32_t)arguments->n };
	*ret_forms = (struct value_forms){ .n = arguments->n };
	for (size_t i = 0; i < arguments->n; i++) {
		ret->of[i] = arguments->of[i].how;
		ret_forms->of[i] = arguments->of[i].form;
	}
}
