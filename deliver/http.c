// SPDX-License-Identifier: Apache-2.0
#include "deliver/http.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/secret.h"
#include "base/text.h"
#include "deliver/curl_library.h"

#define CONNECT_MS 5000L
/* Of a whole request, so that a backend that stops reading is noticed. */
#define REQUEST_MS 60000L

#define OTLP_PATH "/v1development/profiles"
#define OTLP_SERVICE "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define PYROSCOPE_PATH "/push.v1.PusherService/Push"

/* gRPC over HTTP2, "Length-Prefixed-Message": whether it is compressed, and its length. */
#define FRAME_HEAD 5

#define SECRET_SIZE 8192
#define BEARER "Authorization: Bearer " /* RFC 6750 §2.1 */
#define BASIC "Authorization: Basic "   /* RFC 7617 §2 */

/* A scheme of URLs, and what it stands for. */
static const struct scheme {
	enum deliver_protocol protocol;
	const char *name, *http;
	enum answer_form form;
	bool has_tls;
	const char *path;
} schemes[] = {
	{ DELIVER_OTLP, "grpc://", "http://", ANSWER_OTLP_GRPC, false, OTLP_SERVICE },
	{ DELIVER_OTLP, "grpcs://", "https://", ANSWER_OTLP_GRPC, true, OTLP_SERVICE },
	{ DELIVER_OTLP, "http://", "http://", ANSWER_OTLP_HTTP, false, OTLP_PATH },
	{ DELIVER_OTLP, "https://", "https://", ANSWER_OTLP_HTTP, true, OTLP_PATH },
	{ DELIVER_PYROSCOPE, "http://", "http://", ANSWER_CONNECT, false, PYROSCOPE_PATH },
	{ DELIVER_PYROSCOPE, "https://", "https://", ANSWER_CONNECT, true, PYROSCOPE_PATH },
};

struct http {
	struct curl_library library;
	CURL *curl;
	const struct scheme *scheme;
	char *url, *shown; /* without secrets */
	char *ca_file, *certificate_file, *key_file, *token_file, *user, *password_file, *tenant;
	char **headers;
	size_t n_headers;
	bool insecure;
	bool (*must_stop)(void *arg);
	void *arg;
};

/* A request on its way. */
struct exchange {
	struct http *http;
	struct answer *answer;
	struct curl_slist *headers;
	uint8_t head[FRAME_HEAD];
	size_t head_size;
	const uint8_t *body;
	size_t size, sent; /* with the head */
	char error[CURL_ERROR_SIZE];
};

static const struct scheme *find_scheme(enum deliver_protocol protocol, const char *url)
{
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (schemes[i].protocol == protocol &&
		    strncasecmp(url, schemes[i].name, strlen(schemes[i].name)) == 0)
			return &schemes[i];
	return NULL;
}

/* The path is the protocol's if there is none, or only a slash. */
static int make_url(struct http *http, const char *url)
{
	const char *rest = url + strlen(http->scheme->name);
	const char *slash = strchr(rest, '/');
	bool has_path = slash && slash[1] != '\0';
	int n = has_path ? asprintf(&http->url, "%s%s", http->scheme->http, rest) :
			   asprintf(&http->url, "%s%.*s%s", http->scheme->http,
				    (int)(slash ? slash - rest : (long)strlen(rest)), rest,
				    http->scheme->path);

	if (n < 0) {
		http->url = NULL;
		return -ENOMEM;
	}
	http->shown = secret_mask_url(http->url);
	if (!http->shown)
		return -ENOMEM;
	/* A name and a password in it would be logged. */
	return *rest == '\0' || *rest == '/' || strchr(rest, '@') ? -EINVAL : 0;
}

static int copy(const char *from, char **ret)
{
	*ret = from ? strdup(from) : NULL;
	return from && !*ret ? -ENOMEM : 0;
}

static int copy_options(struct http *http, const struct deliver_options *o)
{
	if (copy(o->ca_file, &http->ca_file) < 0 ||
	    copy(o->certificate_file, &http->certificate_file) < 0 ||
	    copy(o->key_file, &http->key_file) < 0 || copy(o->token_file, &http->token_file) < 0 ||
	    copy(o->user, &http->user) < 0 || copy(o->password_file, &http->password_file) < 0 ||
	    copy(o->tenant, &http->tenant) < 0)
		return -ENOMEM;
	http->insecure = o->insecure;
	http->headers = calloc(o->n_headers + 1, sizeof(*http->headers));
	if (!http->headers)
		return -ENOMEM;
	for (; http->n_headers < o->n_headers; http->n_headers++)
		if (copy(o->headers[http->n_headers], &http->headers[http->n_headers]) < 0)
			return -ENOMEM;
	return 0;
}

int http_open(const struct deliver_options *options, bool (*must_stop)(void *arg), void *arg,
	      struct http **ret)
{
	const struct scheme *scheme = find_scheme(options->protocol, options->url);
	struct http *http;
	int err;

	if (!scheme)
		return -EINVAL;
	http = calloc(1, sizeof(*http));
	if (!http)
		return -ENOMEM;
	http->scheme = scheme;
	http->must_stop = must_stop;
	http->arg = arg;
	err = make_url(http, options->url);
	if (err == 0)
		err = copy_options(http, options);
	if (err == 0)
		err = curl_library_open(&http->library);
	if (err == 0) {
		http->curl = http->library.easy_init();
		err = http->curl ? 0 : -ENOMEM;
	}
	*ret = err == 0 ? http : http_free(http);
	return err;
}

struct http *http_free(struct http *http)
{
	if (!http)
		return NULL;
	if (http->curl)
		http->library.easy_cleanup(http->curl);
	for (size_t i = 0; i < http->n_headers; i++)
		free(http->headers[i]);
	free(http->headers);
	free(http->url);
	free(http->shown);
	free(http->ca_file);
	free(http->certificate_file);
	free(http->key_file);
	free(http->token_file);
	free(http->user);
	free(http->password_file);
	free(http->tenant);
	free(http);
	return NULL;
}

const char *http_url(const struct http *http)
{
	return http->shown;
}

static int add_header(struct exchange *e, const char *line)
{
	struct curl_slist *list = e->http->library.slist_append(e->headers, line);

	if (!list)
		return -ENOMEM;
	e->headers = list;
	return 0;
}

static int add_token(struct exchange *e)
{
	char line[sizeof(BEARER) + SECRET_SIZE] = BEARER;
	int err = secret_read_line(e->http->token_file, line + strlen(BEARER), SECRET_SIZE);

	if (err == 0)
		err = add_header(e, line);
	explicit_bzero(line, sizeof(line));
	return err;
}

/* libcurl would keep the password for as long as the connection is open. */
static int add_password(struct exchange *e)
{
	char pair[SECRET_SIZE];
	char line[sizeof(BASIC) + BASE64_ENCODE_RAW_LENGTH(sizeof(pair))] = BASIC;
	int n = snprintf(pair, sizeof(pair), "%s:", e->http->user);
	int err = (size_t)n < sizeof(pair) ? 0 : -ENAMETOOLONG;

	if (err == 0 && e->http->password_file)
		err = secret_read_line(e->http->password_file, pair + n, sizeof(pair) - (size_t)n);
	if (err == 0) {
		base64_encode_raw(line + strlen(BASIC), strlen(pair), (const uint8_t *)pair);
		err = add_header(e, line);
	}
	explicit_bzero(pair, sizeof(pair));
	explicit_bzero(line, sizeof(line));
	return err;
}

static int add_tenant(struct exchange *e)
{
	_cleanup_free_ char *line = NULL;

	return asprintf(&line, "X-Scope-OrgID: %s", e->http->tenant) < 0 ? -ENOMEM :
									   add_header(e, line);
}

static const char *const form_headers[][5] = {
	[ANSWER_OTLP_HTTP] = { "Content-Type: application/x-protobuf", "Content-Encoding: gzip" },
	[ANSWER_OTLP_GRPC] = { "Content-Type: application/grpc+proto", "TE: trailers",
			       "grpc-encoding: gzip", "grpc-accept-encoding: identity" },
	[ANSWER_CONNECT] = { "Content-Type: application/proto", "Connect-Protocol-Version: 1" },
};

static int add_headers(struct exchange *e)
{
	const char *const *own = form_headers[e->http->scheme->form];
	int err = add_header(e, "Expect:"); /* no pause before the body */

	for (size_t i = 0; err == 0 && own[i]; i++)
		err = add_header(e, own[i]);
	for (size_t i = 0; err == 0 && i < e->http->n_headers; i++)
		err = add_header(e, e->http->headers[i]);
	if (err == 0 && e->http->tenant)
		err = add_tenant(e);
	if (err == 0 && e->http->token_file)
		err = add_token(e);
	if (err == 0 && e->http->user)
		err = add_password(e);
	return err;
}

static void free_headers(struct exchange *e)
{
	for (struct curl_slist *item = e->headers; item; item = item->next)
		explicit_bzero(item->data, strlen(item->data));
	e->http->library.slist_free_all(e->headers);
}

static size_t on_read(char *to, size_t size, size_t n, void *arg)
{
	struct exchange *e = arg;
	size_t room = size * n, done = 0;

	while (done < room && e->sent < e->head_size)
		to[done++] = (char)e->head[e->sent++];
	if (done < room && e->sent - e->head_size < e->size) {
		size_t at = e->sent - e->head_size, part = e->size - at;

		if (part > room - done)
			part = room - done;
		memcpy(to + done, e->body + at, part);
		e->sent += part;
		done += part;
	}
	return done;
}

/* The request is sent again, on another connection. */
static int on_seek(void *arg, curl_off_t offset, int origin)
{
	struct exchange *e = arg;

	if (origin != SEEK_SET || offset < 0 || (size_t)offset > e->head_size + e->size)
		return CURL_SEEKFUNC_CANTSEEK;
	e->sent = (size_t)offset;
	return CURL_SEEKFUNC_OK;
}

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
	struct exchange *e = arg;

	answer_header(e->answer, line, size * n, e->http->library.getdate, time(NULL));
	return size * n;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct exchange *e = arg;

	answer_body(e->answer, data, size * n);
	return size * n;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct exchange *e = arg;

	return e->http->must_stop(e->http->arg);
}

static void set_security(struct http *http)
{
	CURLcode (*set)(CURL *, CURLoption, ...) = http->library.easy_setopt;
	bool is_grpc = http->scheme->form == ANSWER_OTLP_GRPC;
	long version = !is_grpc              ? CURL_HTTP_VERSION_1_1 :
		       http->scheme->has_tls ? CURL_HTTP_VERSION_2TLS :
					       CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;

	set(http->curl, CURLOPT_HTTP_VERSION, version);
	/* libcurl 7.88 fails with the second request on a connection that has no TLS. */
	set(http->curl, CURLOPT_FORBID_REUSE, is_grpc && !http->scheme->has_tls ? 1L : 0L);
	set(http->curl, CURLOPT_SSL_VERIFYPEER, http->insecure ? 0L : 1L);
	set(http->curl, CURLOPT_SSL_VERIFYHOST, http->insecure ? 0L : 2L);
	if (http->ca_file)
		set(http->curl, CURLOPT_CAINFO, http->ca_file);
	if (http->certificate_file)
		set(http->curl, CURLOPT_SSLCERT, http->certificate_file);
	if (http->key_file)
		set(http->curl, CURLOPT_SSLKEY, http->key_file);
}

/* Redirects are not followed: they would get the credentials. */
static void set_request(struct exchange *e)
{
	struct http *http = e->http;
	CURLcode (*set)(CURL *, CURLoption, ...) = http->library.easy_setopt;

	http->library.easy_reset(http->curl);
	set(http->curl, CURLOPT_URL, http->url);
	set(http->curl, CURLOPT_NOSIGNAL, 1L);
	set(http->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	set(http->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	set(http->curl, CURLOPT_TIMEOUT_MS, REQUEST_MS);
#if CURL_AT_LEAST_VERSION(7, 87, 0)
	/* A name server that does not answer holds up neither the next attempt nor the end. */
	set(http->curl, CURLOPT_QUICK_EXIT, 1L);
#endif
	set(http->curl, CURLOPT_USERAGENT, "dwarfprof/" DP_VERSION);
	set(http->curl, CURLOPT_POST, 1L);
	set(http->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(e->head_size + e->size));
	set(http->curl, CURLOPT_HTTPHEADER, e->headers);
	set(http->curl, CURLOPT_ERRORBUFFER, e->error);
	set(http->curl, CURLOPT_READFUNCTION, on_read);
	set(http->curl, CURLOPT_READDATA, e);
	set(http->curl, CURLOPT_SEEKFUNCTION, on_seek);
	set(http->curl, CURLOPT_SEEKDATA, e);
	set(http->curl, CURLOPT_HEADERFUNCTION, on_header);
	set(http->curl, CURLOPT_HEADERDATA, e);
	set(http->curl, CURLOPT_WRITEFUNCTION, on_body);
	set(http->curl, CURLOPT_WRITEDATA, e);
	set(http->curl, CURLOPT_NOPROGRESS, 0L);
	set(http->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	set(http->curl, CURLOPT_XFERINFODATA, e);
	set_security(http);
}

static enum answer_verdict perform(struct exchange *e)
{
	struct http *http = e->http;
	struct answer *answer = e->answer;
	CURLcode code = http->library.easy_perform(http->curl);

	http->library.easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &answer->status);
	/* gRPC: the answer may be complete though the request was not taken to its end. */
	if (code == CURLE_OK || answer->grpc_status > 0)
		return answer_judge(answer);
	answer->was_sent = e->sent > 0 && code != CURLE_ABORTED_BY_CALLBACK;
	snprintf(answer->text, sizeof(answer->text), "%s",
		 e->error[0] ? e->error : http->library.easy_strerror(code));
	text_make_plain(answer->text);
	return ANSWER_LATER;
}

enum answer_verdict http_post(struct http *http, const void *body, size_t size,
			      struct answer *answer)
{
	struct exchange e = { .http = http, .answer = answer, .body = body, .size = size };
	enum answer_verdict verdict = ANSWER_LATER;
	int err;

	answer_init(answer, http->scheme->form);
	if (http->scheme->form == ANSWER_OTLP_GRPC) {
		const uint8_t head[FRAME_HEAD] = { 1, (uint8_t)(size >> 24), (uint8_t)(size >> 16),
						   (uint8_t)(size >> 8), (uint8_t)size };

		memcpy(e.head, head, sizeof(head));
		e.head_size = sizeof(head);
	}
	err = add_headers(&e);
	if (err == 0) {
		set_request(&e);
		verdict = perform(&e);
	} else {
		snprintf(answer->text, sizeof(answer->text), "the credentials cannot be read: %s",
			 err == -ENODATA ? "their file is empty" : strerror(-err));
	}
	http->library.easy_reset(http->curl); /* it refers to the headers */
	free_headers(&e);
	return verdict;
}
