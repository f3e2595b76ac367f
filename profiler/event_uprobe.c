// SPDX-License-Identifier: Apache-2.0
/* Calls of functions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/session.h"
#include "kernel/uprobe_places.h"
#include "profiler/arguments.h"
#include "profiler/event.h"
#include "profiler/probe_lists.h"
#include "profiler/profiler.h"

/*
 * Where the name begins in PATH:NAME. Both may have colons: the path ends at the first one before
 * which there is a file, or, where none can be read, at the first one. NULL: there is no name.
 */
static const char *find_name(const char *argument)
{
	for (const char *colon = strchr(argument, ':'); colon; colon = strchr(colon + 1, ':')) {
		_cleanup_free_ char *path = strndup(argument, (size_t)(colon - argument));
		struct stat st;

		if (path && strchr(path, '/') && stat(path, &st) == 0 && S_ISREG(st.st_mode))
			return colon + 1;
	}
	return strchr(argument, ':') ? strchr(argument, ':') + 1 : NULL;
}

/* An argument, PATH:NAME(VALUES). */
struct parts {
	char *path, *name;
	struct arguments arguments;
};

static void parts_done(struct parts *parts)
{
	free(parts->path);
	free(parts->name);
}

/* parts_done() frees *ret. On -EINVAL, ret_why says what is wrong with the values, or is "". */
static int split(const char *argument, struct parts *ret, char ret_why[EVENT_TEXT_SIZE])
{
	const char *name = find_name(argument), *values;

	*ret = (struct parts){ 0 };
	ret_why[0] = '\0';
	if (!name || name == argument + 1 || *name == '\0')
		return -EINVAL;
	values = arguments_find(name);
	ret->path = strndup(argument, (size_t)(name - argument) - 1);
	ret->name = values ? strndup(name, (size_t)(values - name)) : strdup(name);
	if (!ret->path || !ret->name)
		return -ENOMEM;
	return values ? arguments_parse(values, &ret->arguments, ret_why) : 0;
}

static int check(const char *argument)
{
	_cleanup_(parts_done) struct parts parts;
	char why[EVENT_TEXT_SIZE];
	int err = split(argument, &parts, why);

	if (err == 0 && strchr(parts.path, '/') && access(parts.path, R_OK) < 0)
		err = -errno;
	return err;
}

static void explain(const char *argument, char ret_why[EVENT_TEXT_SIZE])
{
	_cleanup_(parts_done) struct parts parts;

	(void)split(argument, &parts, ret_why);
}

static bool has_values(const char *argument)
{
	_cleanup_(parts_done) struct parts parts;
	char why[EVENT_TEXT_SIZE];

	return split(argument, &parts, why) == 0 && parts.arguments.n > 0;
}

/* Tells the kernel what to read, and the reports how to write it. */
static int set_values(struct session *session, struct parsers *parsers, const struct parts *parts,
		      struct uprobe_places *places, struct event_text *ret)
{
	_cleanup_(probe_lists_done) struct probe_lists lists = { 0 };
	int err;

	if (parts->arguments.n == 0)
		return 0;
	err = probe_lists_make(parsers, &parts->arguments, places, &lists);
	if (err == 0)
		err = session_set_arguments(session, lists.lists, lists.n);
	if (err < 0)
		return err;
	ret->lists = steal_ptr(lists.forms);
	ret->n_lists = lists.n;
	return 0;
}

static int attach(struct session *session, struct parsers *parsers,
		  const struct profiler_options *o, struct event_text *ret)
{
	_cleanup_uprobe_places_ struct uprobe_places places = { 0 };
	_cleanup_(parts_done) struct parts parts;
	char why[EVENT_TEXT_SIZE];
	int err = split(o->event.argument, &parts, why);

	if (err == 0)
		err = uprobe_places_find(parts.path, parts.name, &places);
	if (err == 0)
		err = set_values(session, parsers, &parts, &places, ret);
	if (err == 0)
		err = session_sample_uprobe(session, &places);
	if (err < 0)
		return err;
	snprintf(ret->name, sizeof(ret->name), "uprobe:%s:%s", parts.path, parts.name);
	if (places.n == 1)
		snprintf(ret->how, sizeof(ret->how), "at each call of %s in %s", parts.name,
			 parts.path);
	else
		snprintf(ret->how, sizeof(ret->how), "at each call of %zu functions %s in %s",
			 places.n, parts.name, parts.path);
	return 0;
}

const struct event_source event_uprobe = {
	.name = "uprobe",
	.argument = ":PATH:NAME[(VALUES)]",
	.pattern = "functions of a file",
	.has_commas = true,
	.when = "each call of the functions with that name or glob",
	.programs = EVENT_BIT(DP_EVENT_UPROBE),
	.levels = DP_UPROBE_LEVELS,
	.user_only = true,
	.missing = "did not run, or not long enough",
	.check = check,
	.explain = explain,
	.has_values = has_values,
	.attach = attach,
};
