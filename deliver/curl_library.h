/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DELIVER_CURL_LIBRARY_H
#define DP_DELIVER_CURL_LIBRARY_H

#include <curl/curl.h>

/* libcurl, loaded when something is to be delivered. Its functions, as in their manual pages. */
struct curl_library {
	CURLcode (*global_init_mem)(long flags, curl_malloc_callback allocate,
				    curl_free_callback release, curl_realloc_callback resize,
				    curl_strdup_callback copy, curl_calloc_callback clear);
	CURL *(*easy_init)(void);
	void (*easy_cleanup)(CURL *curl);
	void (*easy_reset)(CURL *curl);
	CURLcode (*easy_setopt)(CURL *curl, CURLoption option, ...);
	CURLcode (*easy_perform)(CURL *curl);
	CURLcode (*easy_getinfo)(CURL *curl, CURLINFO info, ...);
	const char *(*easy_strerror)(CURLcode code);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
	time_t (*getdate)(const char *text, const time_t *unused);
};

/*
 * 0, or -ENOSYS if it is not installed or too old. It stays loaded. Unless others in this process have begun to use
 * it before, it overwrites what it frees: it copies credentials.
 */
int curl_library_open(struct curl_library *ret);

#endif
