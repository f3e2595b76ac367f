// SPDX-License-Identifier: Apache-2.0
#include "probes/argument_place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* The length of a text, if it is an argument. One that is narrower is not read any wider. */
static void place_length(struct argument_length *length, const struct usdt_place *place,
			 char why[ARGUMENTS_WHY_SIZE])
{
	const bool has_steps = argument_has_steps(&length->how);
	const struct usdt_argument *own;
	size_t own_size, size = length->how.size;

	if (length->number == 0)
		return;
	own = &place->arguments[length->number - 1];
	own_size = own->type < VALUE_N_TYPES ? value_type_size((enum value_type)own->type) : 0;
	if (length->number > place->n_arguments)
		snprintf(why, ARGUMENTS_WHY_SIZE, "it has %u arguments", place->n_arguments);
	else if (own_size == 0 || (has_steps && own_size < sizeof(uint64_t)))
		snprintf(why, ARGUMENTS_WHY_SIZE, "the location of its length cannot be read");
	else if (join(&own->how, &length->how) < 0)
		snprintf(why, ARGUMENTS_WHY_SIZE, "it takes too many dereferences");
	else if (!has_steps)
		length->how.size = (uint8_t)(own_size < size ? own_size : size);
	length->number = 0;
}

static int place_one(struct argument *a, const struct usdt_place *place,
		     char why[ARGUMENTS_WHY_SIZE])
{
	const struct usdt_argument *own = &place->arguments[a->number - 1];
	bool is_pointer = argument_has_steps(&a->how) || a->how.is_text;

	if (a->number > place->n_arguments)
		snprintf(why, ARGUMENTS_WHY_SIZE, "it has %u arguments", place->n_arguments);
	else if (own->type >= VALUE_N_TYPES)
		snprintf(why, ARGUMENTS_WHY_SIZE,
			 "it is not an integer, or its location cannot be read");
	else if (is_pointer && value_type_size((enum value_type)own->type) < sizeof(uint64_t))
		snprintf(why, ARGUMENTS_WHY_SIZE, "it is no pointer: it has %zu bytes",
			 value_type_size((enum value_type)own->type));
	else if (join(&own->how, &a->how) < 0)
		snprintf(why, ARGUMENTS_WHY_SIZE, "it takes too many dereferences");
	else if (!is_pointer)
		a->form.type = narrow(a->form.type, (enum value_type)own->type);
	a->number = 0;
	if (!why[0])
		place_length(&a->length, place, why);
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
