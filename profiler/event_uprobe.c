// SPDX-License-Identifier: Apache-2.0
/* Calls of functions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/session.h"
#include "profiler/event.h"
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

/* Splits PATH:NAME. The caller frees the path; the name is in the argument. */
static int split(const char *argument, char **ret_path, const char **ret_name)
{
	const char *name = find_name(argument);

	if (!name || name == argument + 1 || *name == '\0')
		return -EINVAL;
	*ret_path = strndup(argument, (size_t)(name - argument) - 1);
	*ret_name = name;
	return *ret_path ? 0 : -ENOMEM;
}

static int check(const char *argument)
{
	_cleanup_free_ char *path = NULL;
	const char *name;
	int err = split(argument, &path, &name);

	if (err == 0 && strchr(path, '/') && access(path, R_OK) < 0)
		err = -errno;
	return err;
}

static int attach(struct session *session, const struct profiler_options *o, struct event_text *ret)
{
	_cleanup_free_ char *path = NULL;
	const char *name;
	size_t n = 0;
	int err = split(o->event.argument, &path, &name);

	if (err == 0)
		err = session_sample_uprobe(session, path, name, &n);
	if (err < 0)
		return err;
	snprintf(ret->name, sizeof(ret->name), "uprobe:%s", o->event.argument);
	if (n == 1)
		snprintf(ret->how, sizeof(ret->how), "at each call of %s in %s", name, path);
	else
		snprintf(ret->how, sizeof(ret->how), "at each call of %zu functions %s in %s", n,
			 name, path);
	return 0;
}

const struct event_source event_uprobe = {
	.name = "uprobe",
	.argument = ":PATH:NAME",
	.pattern = "functions of a file",
	.has_commas = true,
	.when = "each call of the functions with that name or glob",
	.programs = EVENT_BIT(DP_EVENT_UPROBE),
	.levels = DP_UPROBE_LEVELS,
	.user_only = true,
	.missing = "did not run, or not long enough",
	.check = check,
	.attach = attach,
};
