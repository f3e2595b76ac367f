/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_HTTP_LIBRARY_H
#define DP_AGENT_HTTP_LIBRARY_H

#include <microhttpd.h>

#define HTTP_LIBRARY_SONAME "libmicrohttpd.so.12"

/* libmicrohttpd, loaded when the agent is to listen. Its functions, as in its manual. */
struct http_library {
	struct MHD_Daemon *(*start_daemon)(unsigned int flags, uint16_t port,
					   MHD_AcceptPolicyCallback accepts, void *accepts_arg,
					   MHD_AccessHandlerCallback answers, void *answers_arg,
					   ...);
	void (*stop_daemon)(struct MHD_Daemon *daemon);
	const char *(*lookup_connection_value)(struct MHD_Connection *connection,
					       enum MHD_ValueKind kind, const char *key);
	const union MHD_ConnectionInfo *(*get_connection_info)(struct MHD_Connection *connection,
							       enum MHD_ConnectionInfoType type,
							       ...);
	void (*suspend_connection)(struct MHD_Connection *connection);
	void (*resume_connection)(struct MHD_Connection *connection);
	struct MHD_Response *(*create_response_from_buffer)(size_t size, void *buffer,
							    enum MHD_ResponseMemoryMode mode);
	enum MHD_Result (*add_response_header)(struct MHD_Response *response, const char *header,
					       const char *content);
	enum MHD_Result (*queue_response)(struct MHD_Connection *connection, unsigned int status,
					  struct MHD_Response *response);
	void (*destroy_response)(struct MHD_Response *response);
};

/* 0, or -ENOSYS if it is not installed or too old; then *ret has no function. It stays loaded. */
int http_library_open(struct http_library *ret);

#endif
