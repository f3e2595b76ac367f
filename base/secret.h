/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_SECRET_H
#define DP_BASE_SECRET_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What stands for a secret where others may read. */
#define SECRET_MASK "***"

/*
 * A copy of a URL, also of a wrong one, without the user, the password and the query, which have
 * keys. NULL: there is no memory. The caller frees it.
 */
static inline char *secret_mask_url(const char *url)
{
	const char *scheme = strstr(url, "://"), *rest = scheme ? scheme + strlen("://") : url;
	size_t n = strcspn(rest, "?#");
	const char *query = rest + n, *at = strrchr(rest, '@');
	/* Behind the query's sign it may belong to a password as well. */
	const char *from = at && at < query ? at + 1 : rest;
	char *text;
	int size;

	if (at && at > query)
		size = asprintf(&text, "%.*s" SECRET_MASK, (int)(rest - url), url);
	else
		size = asprintf(&text, "%.*s%s%.*s%s", (int)(rest - url), url,
				at ? SECRET_MASK "@" : "", (int)(query - from), from,
				*query ? "?" SECRET_MASK : "");
	return size < 0 ? NULL : text;
}

#endif
