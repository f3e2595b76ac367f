// SPDX-License-Identifier: Apache-2.0
/* What becomes of arguments that are parsed: those by name get places, and the kernel its lists. */
#include "probes/arguments.h"

#include <errno.h>
#include <string.h>

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
		if (arguments->of[i].path[0] || arguments->of[i].length.path[0])
			return true;
	return false;
}

void arguments_wanted(const struct arguments *arguments,
		      struct parameter_wanted ret[DP_MAX_ARGUMENTS])
{
	for (size_t i = 0; i < arguments->n; i++) {
		memcpy(ret[i].path, arguments->of[i].path, sizeof(ret[i].path));
		memcpy(ret[i].length, arguments->of[i].length.path, sizeof(ret[i].length));
		ret[i].type =
			arguments->of[i].has_default ? VALUE_N_TYPES : arguments->of[i].form.type;
		ret[i].is_result = arguments->kind == PROBE_RETURN;
		ret[i].line = arguments->line;
	}
}

bool arguments_set_defaults(struct arguments *arguments)
{
	for (size_t i = 0; i < arguments->n; i++)
		if (arguments->of[i].has_default)
			arguments->of[i].path[0] = '\0';
	return !arguments_have_names(arguments);
}

/* The value itself, which was given by name. */
static void resolve_value(struct argument *a, const struct parameter *found,
			  const struct enumerator **names)
{
	bool has_own_length = a->form.type == VALUE_BYTES;

	a->how = found->how;
	if (!has_own_length)
		a->length.how = found->length;
	a->form.type = (enum value_type)found->type;
	a->form.n_names = found->n_names;
	if (a->form.n_names > 0) {
		a->form.names = *names;
		*names += a->form.n_names;
	}
}

void arguments_resolve(struct arguments *arguments,
		       const struct parameter parameters[DP_MAX_ARGUMENTS],
		       const struct enumerator *names)
{
	for (size_t i = 0; i < arguments->n; i++) {
		struct argument *a = &arguments->of[i];

		if (a->length.path[0])
			a->length.how = parameters[i].length;
		a->length.path[0] = '\0';
		if (a->path[0] && !(a->has_default && parameters[i].why[0]))
			resolve_value(a, &parameters[i], &names);
		a->path[0] = '\0';
	}
}

static int describe(const struct dp_argument *how, const struct value_form *form,
		    struct dp_arguments *ret, struct value_forms *ret_forms)
{
	if (ret->n == DP_MAX_ARGUMENTS)
		return -ENOSPC;
	ret->of[ret->n++] = *how;
	ret_forms->of[ret_forms->n++] = *form;
	return 0;
}

int arguments_describe(const struct arguments *arguments, struct dp_arguments *ret,
		       struct value_forms *ret_forms)
{
	static const struct value_form of_length = { .type = VALUE_U64,
						     .unit = "",
						     .is_length = true };
	int err = 0;

	*ret = (struct dp_arguments){ 0 };
	*ret_forms = (struct value_forms){ 0 };
	for (size_t i = 0; err == 0 && i < arguments->n; i++) {
		const struct argument *a = &arguments->of[i];
		struct dp_argument length = a->length.how;

		length.is_text = DP_TEXT_LENGTH;
		if (a->how.is_text == DP_TEXT_SIZED)
			err = describe(&length, &of_length, ret, ret_forms);
		if (err == 0)
			err = describe(&a->how, &a->form, ret, ret_forms);
	}
	return err;
}
