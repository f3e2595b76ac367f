// SPDX-License-Identifier: Apache-2.0
#include "agent/http_library.h"

#include <stddef.h>

#include "base/array.h"
#include "base/library.h"

static const struct library_function functions[] = {
	{ "MHD_start_daemon", offsetof(struct http_library, start_daemon) },
	{ "MHD_stop_daemon", offsetof(struct http_library, stop_daemon) },
	{ "MHD_lookup_connection_value", offsetof(struct http_library, lookup_connection_value) },
	{ "MHD_get_connection_info", offsetof(struct http_library, get_connection_info) },
	{ "MHD_suspend_connection", offsetof(struct http_library, suspend_connection) },
	{ "MHD_resume_connection", offsetof(struct http_library, resume_connection) },
	{ "MHD_create_response_from_buffer",
	  offsetof(struct http_library, create_response_from_buffer) },
	{ "MHD_add_response_header", offsetof(struct http_library, add_response_header) },
	{ "MHD_queue_response", offsetof(struct http_library, queue_response) },
	{ "MHD_destroy_response", offsetof(struct http_library, destroy_response) },
};

int http_library_open(struct http_library *ret)
{
	int err = library_load(HTTP_LIBRARY_SONAME, functions, ARRAY_SIZE(functions), ret);

	if (err < 0)
		*ret = (struct http_library){ 0 };
	return err;
}
