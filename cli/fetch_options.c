// SPDX-License-Identifier: Apache-2.0
#include "cli/fetch_options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/secret.h"
#include "cache/disk_cache.h"
#include "symbols/debug_library.h"

#define URLS "DEBUGINFOD_URLS"

void fetch_options_parse(const char *text, struct name_options *names, const char **ret_urls)
{
	if (text && strcmp(text, "no") == 0) {
		*ret_urls = NULL;
		return;
	}
	*ret_urls = text && strcmp(text, "yes") != 0 ? text : "";
	names->options.no_debuginfod = false; /* the last one counts */
}

/* Such as libdebuginfod takes, with spaces between them. */
static bool are_urls(const char *text)
{
	static const char *const schemes[] = { "http://", "https://", "file://" };
	bool is_one = true;

	text += strspn(text, " ");
	for (; *text && is_one; text += strcspn(text, " "), text += strspn(text, " ")) {
		is_one = false;
		for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
			is_one |= strncmp(text, schemes[i], strlen(schemes[i])) == 0;
	}
	return is_one;
}

void fetch_options_complete(struct name_options *names, const char *urls,
			    const struct argp_state *state)
{
	_cleanup_free_ char *shown = secret_mask_url(urls ? urls : "");
	const char *set = getenv(URLS);

	if (!urls && names->has_timeout)
		argp_error(state, "--debuginfod-timeout needs --debuginfod");
	if (!urls)
		names->options.no_debuginfod = true;
	if (names->options.no_debuginfod)
		return;
	if (names->options.none)
		argp_error(state, "--debuginfod and --no-symbols exclude each other");
	if (!are_urls(urls))
		argp_error(state,
			   "--debuginfod takes URLs with http://, https:// or file://, not '%s'",
			   shown ? shown : "");
	if (!*urls && (!set || !*set))
		argp_error(state, "--debuginfod needs a server: give its URL, or set " URLS);
}

int fetch_options_apply(const char *urls, uint64_t time_ns)
{
	_cleanup_free_ char *kept =
		disk_cache_path(geteuid(), getenv("XDG_CACHE_HOME"), getenv("HOME"));
	_cleanup_free_ char *path = NULL;

	if (urls && *urls && setenv(URLS, urls, true) < 0)
		return -ENOMEM;
	if (urls && debug_library_bound(time_ns) < 0)
		return -ENOMEM;
	if (!kept)
		return 0;
	if (asprintf(&path, "%s/debuginfod", kept) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	return setenv("DEBUGINFOD_CACHE_PATH", path, false) < 0 ? -ENOMEM : 0;
}
