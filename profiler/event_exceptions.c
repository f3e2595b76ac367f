// SPDX-License-Identifier: Apache-2.0
/* Exceptions of C++ and Python, where they are thrown, and of Java, where they are made. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernel/exception_lists.h"
#include "kernel/session.h"
#include "limits/limits.h"
#include "log/log.h"
#include "profiler/event.h"
#include "samples/type_names.h"

static const char *const messages[DP_N_WHATS] = {
#define X(name, class, message) message,
	DP_WHATS(X)
#undef X
};

static bool has_values(const struct event_source *source, const char *argument)
{
	(void)source;
	(void)argument;
	return true;
}

static int set_names(struct value_form *form, const struct enumerator *names, size_t n)
{
	struct enumerator *copy = malloc(n * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, names, n * sizeof(*copy));
	form->names = copy;
	form->n_names = n;
	return 0;
}

static int set_messages(struct value_form *form)
{
	struct enumerator names[DP_N_WHATS];
	size_t n = 0;

	for (size_t i = 0; i < DP_N_WHATS; i++) {
		if (!messages[i])
			continue;
		names[n].value = i + 1;
		snprintf(names[n].name, sizeof(names[n].name), "%s", messages[i]);
		n++;
	}
	return set_names(form, names, n);
}

static int make_forms(struct value_forms *forms)
{
	static const struct enumerator unknown = { 0, "<unknown>" };
	static const struct enumerator languages[] = { { EXCEPTION_IS_PYTHON, "python" },
						       { EXCEPTION_IS_JAVA, LABEL_LANGUAGE_JAVA } };
	struct value_form *of = forms->of;
	int err;

	forms->n = EXCEPTION_N_VALUES;
	of[EXCEPTION_TYPE] =
		(struct value_form){ .name = TYPE_NAMES_KEY, .type = VALUE_STR, .unit = "" };
	of[EXCEPTION_MESSAGE] = (struct value_form){
		.name = LABEL_EXCEPTION_MESSAGE, .type = VALUE_STR, .unit = "", .zero_is_none = true
	};
	of[EXCEPTION_RETHROWN] = (struct value_form){
		.name = "exception.rethrown", .type = VALUE_BOOL, .unit = "", .zero_is_none = true
	};
	of[EXCEPTION_LANGUAGE] = (struct value_form){
		.name = LABEL_EXCEPTION_LANGUAGE, .type = VALUE_U8, .unit = "", .zero_is_none = true
	};
	err = set_names(&of[EXCEPTION_TYPE], &unknown, 1);
	if (err == 0)
		err = set_names(&of[EXCEPTION_LANGUAGE], languages, ARRAY_SIZE(languages));
	return err < 0 ? err : set_messages(&of[EXCEPTION_MESSAGE]);
}

static int attach(const struct event_means *means, const struct profiler_options *o,
		  struct event_text *ret)
{
	int err = -ENOMEM;

	(void)o;
	snprintf(ret->name, sizeof(ret->name), "exceptions");
	snprintf(ret->how, sizeof(ret->how), "at each exception that is thrown");
	/* The places of all runtimes have the same values. */
	ret->thrown = calloc(1, sizeof(*ret->thrown));
	if (ret->thrown)
		err = make_forms(ret->thrown);
	if (err < 0)
		log_error("cannot sample exceptions: %s", strerror(-err));
	return err < 0 ? err : session_sample_exceptions(means->session);
}

const struct event_source event_exceptions = {
	.name = "exceptions",
	.programs = EVENT_BIT(DP_EVENT_UPROBE),
	.levels = DP_UPROBE_LEVELS,
	.counts = "exceptions",
	.user_only = true,
	.has_exceptions = true,
	.max_rate = EXCEPTIONS_MAX_RATE,
	.missing = "threw no exceptions that can be seen",
	.has_values = has_values,
	.attach = attach,
};
