/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DELIVER_HTTP_H
#define DP_DELIVER_HTTP_H

#include "deliver/answer.h"
#include "deliver/deliver.h"

/*
 * A connection to a backend, for one thread, which posts requests by libcurl. gRPC is HTTP/2 with a
 * frame around the message and a status in the trailer (gRPC over HTTP2), which is all that a call
 * with one message each way needs.
 */
struct http;

/* Options are copied. `must_stop` is asked at least once a second. 0 or a negative errno. */
int http_open(const struct deliver_options *options, bool (*must_stop)(void *arg), void *arg,
	      struct http **ret);
struct http *http_free(struct http *http);

/* The URL that requests go to, without what is secret in it. */
const char *http_url(const struct http *http);

/*
 * Posts a request, as the spool has it. ANSWER_LATER without a status: it did not arrive, and
 * answer->text says why.
 */
enum answer_verdict http_post(struct http *http, const void *body, size_t size,
			      struct answer *answer);

#endif
