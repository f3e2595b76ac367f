// SPDX-License-Identifier: Apache-2.0
#include "probes/arguments.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "values/string_layout.h"

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
		snprintf(r->why, ARGUMENTS_WHY_SIZE, "at '%s': expected %s", r->at, allowed);
	else
		snprintf(r->why, ARGUMENTS_WHY_SIZE, "at the end: expected %s", allowed);
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
		if (path_length(r->at) > n)
			return read_path(r, a);
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
	if (r->kind == PROBE_CALL && path_length(r->at) > n) {
		a->number = (unsigned int)number;
		return read_path(r, a);
	}
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

/* The word that is `offset` behind the address. False: it takes too many dereferences. */
static bool load(struct dp_argument *how, int32_t offset)
{
	if (how->n_derefs == DP_MAX_DEREFS)
		return false;
	how->derefs[how->n_derefs++] = (int32_t)how->add + offset;
	how->add = 0;
	how->size = sizeof(uint64_t);
	return true;
}

/* The word behind one: the next in memory, or the next argument. False: there is none. */
static bool next_word(const struct argument *a, struct argument_length *ret)
{
	const struct dp_argument *first = &a->how;

	ret->how = *first;
	ret->number = a->number;
	if (first->add != 0)
		return false;
	if (first->n_derefs > 0) {
		ret->how.derefs[first->n_derefs - 1] += (int32_t)sizeof(uint64_t);
		return true;
	}
	if (a->number) {
		ret->number++;
		return ret->number <= USDT_MAX_ARGUMENTS;
	}
	for (size_t i = 0; i < ARRAY_SIZE(registers); i++) {
		if (registers[i] == first->reg) {
			ret->how = (struct dp_argument){ 0 };
			set_argument(&ret->how, (int64_t)i + 2);
			return true;
		}
	}
	return false;
}

/* A text whose address and length are two words, one behind the other. */
static int set_both(struct reader *r, struct argument *a, bool length_is_first)
{
	struct dp_argument first = a->how;
	unsigned int number = a->number;

	if (!next_word(a, &a->length))
		return fail(r, "argN or ->OFFSET in front of this type, which has two words");
	if (!length_is_first)
		return 0;
	a->how = a->length.how;
	a->number = a->length.number;
	a->length.how = first;
	a->length.number = number;
	return 0;
}

/* A text by position: where it is, and how long. */
static int set_text(struct reader *r, struct argument *a)
{
	const struct string_layout object = STRING_LAYOUT_CXX11;
	int err = 0;

	if (r->kind == PROBE_KERNEL && a->form.type != VALUE_STR)
		return fail(r, "str, the only text that can be read of an event of the kernel");
	switch (a->form.type) {
	case VALUE_STD_STRING:
		a->length.how = a->how;
		a->length.number = a->number;
		if (!load(&a->how, object.pointer) || !load(&a->length.how, object.length))
			return fail(r, "at most 8 dereferences, of which a std::string takes one");
		break;
	case VALUE_LIBCXX_STRING:
		a->how.is_text = DP_TEXT_LIBCXX;
		a->how.size = sizeof(uint64_t);
		return 0;
	case VALUE_GO_STR:
		return fail(r,
			    "a parameter's name in front of gostr: Go's calls use other registers");
	case VALUE_STD_STRING_VIEW: /* of libstdc++ */
	case VALUE_RUST_STR:
		err = set_both(r, a, a->form.type == VALUE_STD_STRING_VIEW);
		a->length.how.size = sizeof(uint64_t);
		break;
	default:
		break;
	}
	a->how.is_text = a->form.type == VALUE_STR ? DP_TEXT_ENDED : DP_TEXT_SIZED;
	a->how.size = sizeof(uint64_t);
	return err;
}

static int read_type(struct reader *r, enum value_type *ret)
{
	_cleanup_free_ char *list = NULL;
	size_t n, size;
	FILE *to;

	skip_spaces(r);
	n = strspn(r->at, NAME_CHARACTERS ":");
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

/* A value without its type: from an argument or parameter, and the steps from there. */
static int read_value(struct reader *r, struct argument *ret)
{
	int err = read_base(r, ret);

	if (err == 0 && (!ret->path[0] || r->kind == PROBE_KERNEL) &&
	    ret->how.base == DP_BASE_REGISTER)
		err = read_steps(r, &ret->how);
	return err;
}

/* Floats are read in memory: those in registers are not known to the kernel. */
static int check_float(const struct reader *r, const struct argument *a)
{
	if (value_type_kind(a->form.type) != VALUE_IS_FLOAT || r->kind == PROBE_STATIC ||
	    (a->how.n_derefs > 0 && a->how.add == 0))
		return 0;
	return fail(r,
		    "->OFFSET or a name in front of a float, which cannot be read in a register");
}

/* What a number is read as: of other sums than of addresses, all of a register. */
static void set_size(struct dp_argument *how, enum value_type type)
{
	how->size = (uint8_t)(how->add ? sizeof(uint64_t) : value_type_size(type));
}

/* VALUE, VALUE:TYPE, or a number. */
static int read_length_value(struct reader *r, struct argument *ret)
{
	int64_t number;
	int err;

	*ret = (struct argument){ .form = { .type = VALUE_U64 } };
	skip_spaces(r);
	if (isdigit((unsigned char)*r->at)) {
		ret->how.base = DP_BASE_CONSTANT;
		err = read_number(r, INT32_MAX, &number);
		ret->how.add = err < 0 ? 0 : number;
		return err;
	}
	err = read_value(r, ret);
	ret->form.type = VALUE_U64;
	if (err == 0 && !ret->path[0] && take(r, ":"))
		err = read_type(r, &ret->form.type);
	return err;
}

/* `[LENGTH]` behind bytes. */
static int read_length(struct reader *r, struct argument_length *ret)
{
	struct argument length;
	enum value_kind kind;
	int err;

	if (!take(r, "["))
		return fail(r, "how many bytes: [NUMBER] or [VALUE]");
	err = read_length_value(r, &length);
	if (err < 0)
		return err;
	kind = value_type_kind(length.form.type);
	if (kind != VALUE_IS_UNSIGNED && kind != VALUE_IS_SIGNED)
		return fail(r, "an integer in front, such as arg2:u32");
	if (!take(r, "]"))
		return fail(r, "']'");
	set_size(&length.how, length.form.type);
	ret->how = length.how;
	ret->number = length.number;
	memcpy(ret->path, length.path, sizeof(ret->path));
	return 0;
}

/* The result has its type in debug information, if there is some. */
static void set_default(const struct reader *r, struct argument *a)
{
	if (r->kind != PROBE_RETURN || a->path[0] || a->how.base != DP_BASE_REGISTER ||
	    argument_has_steps(&a->how))
		return;
	strcpy(a->path, RESULT);
	a->has_default = true;
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
	err = read_value(r, ret);
	if (err < 0)
		return err;
	name_by_text(&ret->form, text, r->at);
	if ((ret->number || r->kind == PROBE_KERNEL) && !argument_has_steps(&ret->how))
		ret->form.type = VALUE_N_TYPES;
	if (take(r, ":"))
		err = read_type(r, &ret->form.type);
	else
		set_default(r, ret);
	if (err == 0 && ret->form.type == VALUE_BYTES)
		err = read_length(r, &ret->length);
	is_parameter = ret->path[0] && r->kind != PROBE_KERNEL && !ret->has_default;
	if (err < 0 || ret->form.type == VALUE_N_TYPES || is_parameter)
		return err;
	if (value_type_kind(ret->form.type) == VALUE_IS_TEXT)
		return set_text(r, ret);
	set_size(&ret->how, ret->form.type);
	return check_float(r, ret);
}

int arguments_parse(const char *list, enum probe_kind kind, struct arguments *ret,
		    char ret_why[ARGUMENTS_WHY_SIZE])
{
	struct reader r = { kind, list + 1, ret_why };
	int err = 0;

	*ret = (struct arguments){ .kind = kind };
	do {
		if (ret->n == DP_MAX_ARGUMENTS)
			return fail(&r, "at most 16 values");
		err = read_argument(&r, &ret->of[ret->n++]);
	} while (err == 0 && take(&r, ","));
	if (err == 0 && (!take(&r, ")") || *r.at))
		err = fail(&r, "'->OFFSET', '+OFFSET', ':TYPE', ',' or, at the end, ')'");
	return err;
}
