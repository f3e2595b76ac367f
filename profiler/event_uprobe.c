// SPDX-License-Identifier: Apache-2.0
/* Calls of a function. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/session.h"
#include "profiler/event.h"
#include "profiler/profiler.h"

/* Copies PATH:SYMBOL and splits it. The caller frees the path. */
static int split(const char *argument, char **ret_path, char **ret_symbol)
{
	_cleanup_free_ char *path = strdup(argument);
	char *colon;

	if (!path)
		return -ENOMEM;
	colon = strrchr(path, ':');
	if (!colon || colon == path || colon[1] == '\0')
		return -EINVAL;
	*colon = '\0';
	*ret_symbol = colon + 1;
	*ret_path = steal_ptr(path);
	return 0;
}

static int check(const char *argument)
{
	_cleanup_free_ char *path = NULL;
	char *symbol;
	int err = split(argument, &path, &symbol);

	if (err == 0 && strchr(path, '/') && access(path, R_OK) < 0)
		err = -errno;
	return err;
}

static int attach(struct session *session, const struct profiler_options *o, struct event_text *ret)
{
	_cleanup_free_ char *path = NULL;
	char *symbol;
	int err = split(o->event.argument, &path, &symbol);

	if (err < 0)
		return err;
	snprintf(ret->name, sizeof(ret->name), "uprobe:%s", o->event.argument);
	snprintf(ret->how, sizeof(ret->how), "at each call of %s in %s", symbol, path);
	return session_sample_uprobe(session, path, symbol);
}

const struct event_source event_uprobe = {
	.name = "uprobe",
	.argument = "PATH:SYMBOL",
	.programs = EVENT_BIT(DP_EVENT_UPROBE),
	.user_only = true,
	.missing = "did not run, or not long enough",
	.check = check,
	.attach = attach,
};
