// SPDX-License-Identifier: Apache-2.0
#include "values/usdt_argument.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SHIFT 3 /* of an index: 8 */

/* What is left of the text. */
struct reader {
	const char *at;
};

static bool take(struct reader *r, char c)
{
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

static bool take_number(struct reader *r, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(r->at, &end, 0);
	if (end == r->at || errno != 0)
		return false;
	r->at = end;
	return true;
}

/* Constants of 64 bits may be written with or without a sign. */
static bool take_constant(struct reader *r, int64_t *ret)
{
	char *end;

	if (take_number(r, ret))
		return true;
	errno = 0;
	*ret = (int64_t)strtoull(r->at, &end, 0);
	if (end == r->at || errno != 0)
		return false;
	r->at = end;
	return true;
}

static bool take_register(struct reader *r, int *ret)
{
	size_t n;

	if (!take(r, '%'))
		return false;
	n = strspn(r->at, "abcdefghijklmnopqrstuvwxyz0123456789");
	*ret = usdt_register(r->at, n);
	r->at += n;
	return *ret >= 0;
}

/* `,INDEX,4)` and `)`. */
static bool take_index(struct reader *r, struct dp_argument *how)
{
	int64_t scale = 1;
	int reg;

	if (take(r, ',')) {
		if (!take_register(r, &reg) || reg == DP_REG_SP || reg == DP_REG_PC)
			return false;
		how->index = (__u8)(reg + 1);
		if (take(r, ',') && !take_number(r, &scale))
			return false;
	}
	while (how->shift <= MAX_SHIFT && scale != 1 << how->shift)
		how->shift++;
	return how->shift <= MAX_SHIFT && take(r, ')');
}

/* `8(BASE,INDEX,4)`. Without a base, the index alone is added. */
static bool take_memory(struct reader *r, struct dp_argument *how)
{
	int64_t offset = 0;
	int reg;

	if (*r->at != '(' && !take_number(r, &offset))
		return false;
	if (offset < INT32_MIN || offset > INT32_MAX || !take(r, '('))
		return false;
	how->base = DP_BASE_CONSTANT;
	if (*r->at == '%') {
		if (!take_register(r, &reg))
			return false;
		how->base = DP_BASE_REGISTER;
		how->reg = (__u8)reg;
	}
	how->derefs[how->n_derefs++] = (__s32)offset;
	return take_index(r, how);
}

static bool take_operand(struct reader *r, size_t size, struct dp_argument *how)
{
	int64_t constant;
	int reg;

	how->size = (__u8)size;
	if (take(r, '$')) {
		how->base = DP_BASE_CONSTANT;
		if (!take_constant(r, &constant))
			return false;
		how->add = constant;
		return true;
	}
	if (*r->at != '%')
		return take_memory(r, how);
	how->size = sizeof(uint64_t);
	if (!take_register(r, &reg))
		return false;
	how->reg = (__u8)reg;
	return true;
}

/* Reads `-4@$5`, or of a float `8f@...`. False: it is something else. */
static bool read_one(struct reader *r, struct usdt_argument *ret)
{
	bool is_signed = *r->at == '-';
	int64_t size;

	enum value_kind kind = is_signed ? VALUE_IS_SIGNED : VALUE_IS_UNSIGNED;

	if (!take_number(r, &size) || size == INT64_MIN)
		return false;
	size = is_signed ? -size : size;
	if (take(r, 'f'))
		kind = VALUE_IS_FLOAT;
	if (!take(r, '@'))
		return false;
	ret->type = value_type_of(kind, (size_t)size);
	return ret->type < VALUE_N_TYPES && take_operand(r, (size_t)size, &ret->how) &&
	       (*r->at == ' ' || *r->at == '\0');
}

size_t usdt_arguments_parse(const char *list, struct usdt_argument ret[USDT_MAX_ARGUMENTS])
{
	struct reader r = { list };
	size_t n = 0;

	for (;;) {
		r.at += strspn(r.at, " ");
		if (*r.at == '\0' || n == USDT_MAX_ARGUMENTS)
			return n;
		ret[n] = (struct usdt_argument){ 0 };
		if (!read_one(&r, &ret[n]))
			ret[n] = (struct usdt_argument){ .type = VALUE_N_TYPES };
		r.at += strcspn(r.at, " ");
		n++;
	}
}

bool usdt_argument_is_sound(const struct usdt_argument *a)
{
	return a->type <= VALUE_N_TYPES && a->how.base <= DP_BASE_CONSTANT &&
	       a->how.reg < DP_N_REGISTERS && a->how.index <= DP_N_REGISTERS &&
	       a->how.shift <= MAX_SHIFT && a->how.n_derefs <= 1 &&
	       a->how.size <= sizeof(uint64_t) && !a->how.is_text && !a->how.is_what;
}
