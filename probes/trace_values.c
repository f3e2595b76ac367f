// SPDX-License-Identifier: Apache-2.0
#include "probes/trace_values.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kernel/trace_place.h"

static void set_offsets(struct dp_argument *how, const struct trace_place *place, size_t n)
{
	memcpy(how->derefs, place->offsets, n * sizeof(*how->derefs));
	how->n_derefs = (uint8_t)n;
}

/* Its bytes are at the place. */
static int place_text(struct argument *a, const struct trace_place *place, char *why)
{
	if (argument_has_steps(&a->how) ||
	    (a->form.type != VALUE_N_TYPES && a->form.type != VALUE_STR)) {
		snprintf(why, ARGUMENTS_WHY_SIZE, "%s is a text", a->path);
		return -EINVAL;
	}
	a->form.type = VALUE_STR;
	a->how = (struct dp_argument){ .base = DP_BASE_RECORD, .is_text = DP_TEXT_ENDED };
	if (place->value.kind == TRACE_FIELD_LOCATED) {
		a->how.base = DP_BASE_LOCATED;
		a->how.derefs[0] = place->offsets[0];
		return 0;
	}
	set_offsets(&a->how, place, place->n - 1);
	a->how.size = sizeof(uint64_t);
	a->how.add = place->offsets[place->n - 1];
	return 0;
}

/* The steps go on from the word at the place. */
static int place_pointer(struct argument *a, const struct trace_place *place, bool is_syscall,
			 char *why)
{
	struct dp_argument how = a->how;

	if (place->value.size != sizeof(uint64_t)) {
		snprintf(why, ARGUMENTS_WHY_SIZE, "%s is no pointer: it has %u bytes", a->path,
			 place->value.size);
		return -EINVAL;
	}
	if (place->n + a->how.n_derefs > DP_MAX_DEREFS) {
		snprintf(why, ARGUMENTS_WHY_SIZE, "%s: it takes too many dereferences", a->path);
		return -EINVAL;
	}
	set_offsets(&how, place, place->n);
	memcpy(how.derefs + place->n, a->how.derefs, a->how.n_derefs * sizeof(*how.derefs));
	how.n_derefs += a->how.n_derefs;
	if (a->how.n_derefs == 0)
		how.size = sizeof(uint64_t);
	how.base = is_syscall ? DP_BASE_SYSCALL : DP_BASE_RECORD;
	a->how = how;
	return 0;
}

static enum value_type own_type(const struct trace_field *f)
{
	if (f->kind == TRACE_FIELD_POINTER)
		return VALUE_PTR;
	return value_type_of(f->is_signed ? VALUE_IS_SIGNED : VALUE_IS_UNSIGNED, f->size);
}

static enum value_type narrow(enum value_type wanted, const struct trace_field *f)
{
	if (wanted == VALUE_N_TYPES)
		return own_type(f);
	if (value_type_size(wanted) <= f->size)
		return wanted;
	wanted = value_type_of(value_type_kind(wanted), f->size);
	return wanted == VALUE_N_TYPES ? own_type(f) : wanted;
}

static int place_one(struct argument *a, const struct trace_place *place, bool is_syscall,
		     char *why)
{
	if (a->form.type != VALUE_N_TYPES && a->form.type != VALUE_STR &&
	    value_type_kind(a->form.type) == VALUE_IS_TEXT) {
		snprintf(why, ARGUMENTS_WHY_SIZE, "%s: the only text of a kernel event is str",
			 a->path);
		return -EINVAL;
	}
	switch (place->value.kind) {
	case TRACE_FIELD_OTHER:
		snprintf(why, ARGUMENTS_WHY_SIZE, "%s is no number, pointer or text", a->path);
		return -EINVAL;
	case TRACE_FIELD_TEXT:
	case TRACE_FIELD_LOCATED:
		return place_text(a, place, why);
	default:
		break;
	}
	if (argument_has_steps(&a->how) || a->form.type == VALUE_STR)
		return place_pointer(a, place, is_syscall, why);
	a->form.type = narrow(a->form.type, &place->value);
	a->how = (struct dp_argument){ .base = DP_BASE_RECORD,
				       .size = (uint8_t)value_type_size(a->form.type) };
	set_offsets(&a->how, place, place->n);
	return 0;
}

int trace_values_place(struct arguments *arguments, const struct trace_record *record,
		       char ret_why[ARGUMENTS_WHY_SIZE])
{
	int err = 0;

	_Static_assert(TRACE_WHY_SIZE == ARGUMENTS_WHY_SIZE, "both have room");
	ret_why[0] = '\0';
	for (size_t i = 0; err == 0 && i < arguments->n; i++) {
		struct argument *a = &arguments->of[i];
		struct trace_place place;

		err = trace_place_find(record, a->path, a->number, &place, ret_why);
		if (err == 0)
			err = place_one(a, &place, record->is_syscall, ret_why);
		a->number = 0;
		a->path[0] = '\0';
	}
	return err;
}
