// SPDX-License-Identifier: Apache-2.0
#include "deliver/curl_library.h"

#include <errno.h>
#include <stddef.h>

#include "base/array.h"
#include "base/library.h"

#define LIBRARY "libcurl.so.4"

static const struct library_function functions[] = {
	{ "curl_global_init", offsetof(struct curl_library, global_init) },
	{ "curl_easy_init", offsetof(struct curl_library, easy_init) },
	{ "curl_easy_cleanup", offsetof(struct curl_library, easy_cleanup) },
	{ "curl_easy_reset", offsetof(struct curl_library, easy_reset) },
	{ "curl_easy_setopt", offsetof(struct curl_library, easy_setopt) },
	{ "curl_easy_perform", offsetof(struct curl_library, easy_perform) },
	{ "curl_easy_getinfo", offsetof(struct curl_library, easy_getinfo) },
	{ "curl_easy_strerror", offsetof(struct curl_library, easy_strerror) },
	{ "curl_slist_append", offsetof(struct curl_library, slist_append) },
	{ "curl_slist_free_all", offsetof(struct curl_library, slist_free_all) },
	{ "curl_getdate", offsetof(struct curl_library, getdate) },
};

int curl_library_open(struct curl_library *ret)
{
	int err = library_load(LIBRARY, functions, ARRAY_SIZE(functions), ret);

	if (err < 0)
		return err;
	/* Its counterpart would end what others in this process do with the library. */
	return ret->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : -ENOSYS;
}
