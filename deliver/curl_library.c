// SPDX-License-Identifier: Apache-2.0
#include "deliver/curl_library.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/library.h"

#define LIBRARY "libcurl.so.4"

static const struct library_function functions[] = {
	{ "curl_global_init_mem", offsetof(struct curl_library, global_init_mem) },
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

static void overwrite_and_free(void *memory)
{
	if (memory)
		explicit_bzero(memory, malloc_usable_size(memory));
	free(memory);
}

/* realloc() would leave the old copy. */
static void *resize(void *memory, size_t size)
{
	size_t had = memory ? malloc_usable_size(memory) : 0;
	void *other = malloc(size);

	if (!other)
		return NULL;
	if (memory)
		memcpy(other, memory, had < size ? had : size);
	overwrite_and_free(memory);
	return other;
}

int curl_library_open(struct curl_library *ret)
{
	int err = library_load(LIBRARY, functions, ARRAY_SIZE(functions), ret);

	if (err < 0)
		return err;
	/* Its counterpart would end what others in this process do with the library. */
	return ret->global_init_mem(CURL_GLOBAL_DEFAULT, malloc, overwrite_and_free, resize, strdup,
				    calloc) == CURLE_OK ?
		       0 :
		       -ENOSYS;
}
