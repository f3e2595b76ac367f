// SPDX-License-Identifier: Apache-2.0
#include "tables/x86_64/sum.h"

/* Numbers of computed parts, after those of registers. */
#define FIRST_MADE DP_N_VALUE_REGISTERS

static_assert(FIRST_MADE + SUM_MAX_PARTS <= UINT8_MAX, "a part's number fits");

struct sum sum_register(unsigned int reg)
{
	return (struct sum){ .is_known = true,
			     .n_terms = 1,
			     .terms = { { .part = (uint8_t)reg, .factor = 1 } } };
}

static struct sum made(struct sum_parts *parts, const struct sum_part *part)
{
	size_t i = 0;

	if (!part->of.is_known)
		return sum_unknown();
	while (i < parts->n_made &&
	       !(parts->made[i].is_word == part->is_word && parts->made[i].mask == part->mask &&
		 sum_is_equal(&parts->made[i].of, &part->of)))
		i++;
	if (i == SUM_MAX_PARTS)
		return sum_unknown();
	if (i == parts->n_made)
		parts->made[parts->n_made++] = *part;
	return sum_register((unsigned int)(FIRST_MADE + i));
}

struct sum sum_word(struct sum_parts *parts, const struct sum *address)
{
	return made(parts, &(struct sum_part){ .is_word = true, .of = *address });
}

struct sum sum_masked(struct sum_parts *parts, const struct sum *of, int64_t mask)
{
	return made(parts, &(struct sum_part){ .of = *of, .mask = mask });
}

/* Adds a term, or cancels it with its opposite. False: no room, or the term is there already. */
static bool add_term(struct sum *s, struct sum_term term)
{
	size_t i = 0;

	while (i < s->n_terms && s->terms[i].part < term.part)
		i++;
	if (i < s->n_terms && s->terms[i].part == term.part) {
		if (s->terms[i].factor == term.factor)
			return false;
		for (s->n_terms--; i < s->n_terms; i++)
			s->terms[i] = s->terms[i + 1];
		s->terms[s->n_terms] = (struct sum_term){ 0 };
		return true;
	}
	if (s->n_terms == SUM_MAX_TERMS)
		return false;
	for (size_t k = s->n_terms++; k > i; k--)
		s->terms[k] = s->terms[k - 1];
	s->terms[i] = term;
	return true;
}

struct sum sum_add(const struct sum *a, const struct sum *b, int factor)
{
	struct sum ret = *a;

	if (!a->is_known || !b->is_known)
		return sum_unknown();
	for (size_t i = 0; i < b->n_terms; i++) {
		struct sum_term term = b->terms[i];

		term.factor = (int8_t)(term.factor * factor);
		if (!add_term(&ret, term))
			return sum_unknown();
	}
	ret.number = (int64_t)((uint64_t)a->number + (uint64_t)factor * (uint64_t)b->number);
	return ret;
}

static bool has_same_parts(const struct sum *a, const struct sum *b)
{
	if (a->is_known != b->is_known || a->n_terms != b->n_terms)
		return false;
	for (size_t i = 0; i < a->n_terms; i++)
		if (a->terms[i].part != b->terms[i].part ||
		    a->terms[i].factor != b->terms[i].factor)
			return false;
	return true;
}

bool sum_is_equal(const struct sum *a, const struct sum *b)
{
	return has_same_parts(a, b) && a->number == b->number;
}

bool sum_distance(const struct sum *a, const struct sum *b, int64_t *ret)
{
	if (!a->is_known || !has_same_parts(a, b))
		return false;
	*ret = (int64_t)((uint64_t)a->number - (uint64_t)b->number);
	return true;
}

/* Its only part, if that is a computed one; else NULL. */
static const struct sum_part *only_part(const struct sum_parts *parts, const struct sum *s)
{
	if (!s->is_known || s->n_terms != 1 || s->terms[0].factor != 1 ||
	    s->terms[0].part < FIRST_MADE)
		return NULL;
	return &parts->made[s->terms[0].part - FIRST_MADE];
}

bool sum_is_word(const struct sum_parts *parts, const struct sum *s, struct sum *ret_address)
{
	const struct sum_part *part = only_part(parts, s);

	if (!part || !part->is_word || s->number != 0)
		return false;
	*ret_address = part->of;
	return true;
}

bool sum_is_masked(const struct sum_parts *parts, const struct sum *s, struct sum *ret_of,
		   int64_t *ret_mask)
{
	const struct sum_part *part = only_part(parts, s);

	if (!part || part->is_word)
		return false;
	*ret_of = part->of;
	*ret_mask = part->mask;
	return true;
}

static bool add_op(struct rule_program *program, enum dp_opcode code, uint8_t arg, int64_t value)
{
	if (program->n_ops == DP_MAX_OPS || value < INT32_MIN || value > INT32_MAX)
		return false;
	program->ops[program->n_ops++] =
		(struct dp_op){ .code = code, .arg = arg, .value = (int32_t)value };
	return true;
}

static bool compile(const struct sum_parts *parts, const struct sum *s, unsigned int depth,
		    struct rule_program *program);

/* Compiles a part plus a number. */
static bool compile_part(const struct sum_parts *parts, uint8_t number, int64_t more,
			 unsigned int depth, struct rule_program *program)
{
	const struct sum_part *part;

	if (depth >= DP_MAX_VALUES)
		return false;
	if (number < FIRST_MADE)
		return add_op(program, DP_OP_REGISTER, number, more);
	part = &parts->made[number - FIRST_MADE];
	if (!compile(parts, &part->of, depth, program))
		return false;
	if (part->is_word && !add_op(program, DP_OP_DEREF, 8, 0))
		return false;
	if (!part->is_word &&
	    (depth + 1 >= DP_MAX_VALUES || !add_op(program, DP_OP_CONSTANT, 0, part->mask) ||
	     !add_op(program, DP_OP_AND, 0, 0)))
		return false;
	return more == 0 || add_op(program, DP_OP_ADD_CONSTANT, 0, more);
}

/* Parts consist of earlier parts, so this ends. */
static bool compile(const struct sum_parts *parts, const struct sum *s, unsigned int depth,
		    struct rule_program *program)
{
	if (!s->is_known)
		return false;
	if (s->n_terms == 0)
		return depth < DP_MAX_VALUES && add_op(program, DP_OP_CONSTANT, 0, s->number);
	for (size_t i = 0; i < s->n_terms; i++) {
		bool is_less = s->terms[i].factor < 0, is_last = i + 1 == s->n_terms;
		int64_t more = is_last ? (is_less ? -s->number : s->number) : 0;

		if (!compile_part(parts, s->terms[i].part, more, depth + (i > 0), program))
			return false;
		if (i > 0 && !add_op(program, is_less ? DP_OP_SUB : DP_OP_ADD, 0, 0))
			return false;
		if (i == 0 && is_less && !add_op(program, DP_OP_NEG, 0, 0))
			return false;
	}
	return true;
}

bool sum_compile(const struct sum_parts *parts, const struct sum *s, unsigned int depth,
		 struct rule_program *ret)
{
	ret->n_ops = 0;
	return compile(parts, s, depth, ret);
}
