// SPDX-License-Identifier: Apache-2.0
#include "deliver/answer.h"

#include <ctype.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "deliver.pb-c.h"

/* Longer pauses than a day are somebody's mistake. */
#define MAX_PAUSE_MS ((int64_t)24 * 3600 * 1000)

/* gRPC status codes (grpc.github.io, "Status codes and their use"). */
enum grpc_status {
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_ABORTED = 10,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
	GRPC_UNAUTHENTICATED = 16,
};

void answer_init(struct answer *answer, enum answer_form form)
{
	*answer = (struct answer){ .form = form, .grpc_status = -1, .pause_ms = -1 };
}

static void set_text(struct answer *answer, const char *text)
{
	snprintf(answer->text, sizeof(answer->text), "%s", text);
	text_make_plain(answer->text);
}

static void set_pause(struct answer *answer, int64_t seconds, int64_t ms)
{
	int64_t max = MAX_PAUSE_MS / 1000;

	/* A backend may send any number of seconds. */
	ms += (seconds < -max ? -max : seconds > max ? max : seconds) * 1000;
	answer->pause_ms = ms < 0 ? 0 : ms > MAX_PAUSE_MS ? MAX_PAUSE_MS : ms;
}

/* Retry-After, RFC 9110 §10.2.3: seconds or a date. */
static void read_retry_after(struct answer *answer, const char *value,
			     time_t (*parse_date)(const char *, const time_t *), time_t now)
{
	time_t date;

	if (isdigit((unsigned char)*value)) {
		set_pause(answer, strtoll(value, NULL, 10), 0);
		return;
	}
	date = parse_date(value, NULL);
	if (date >= 0)
		set_pause(answer, date - now, 0);
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* grpc-message is percent-encoded (gRPC over HTTP2, "Responses"). */
static void read_message(struct answer *answer, char *value)
{
	char *to = value;

	for (const char *at = value; *at; at++) {
		if (*at == '%' && isxdigit((unsigned char)at[1]) &&
		    isxdigit((unsigned char)at[2])) {
			*to++ = (char)(hex_digit(at[1]) << 4 | hex_digit(at[2]));
			at += 2;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
	set_text(answer, value);
}

static void read_delay(struct answer *answer, const Deliver__Any *detail)
{
	static const char suffix[] = "/google.rpc.RetryInfo";
	size_t n = strlen(detail->type_url);
	Deliver__RetryInfo *info;

	if (n < strlen(suffix) || strcmp(detail->type_url + n - strlen(suffix), suffix) != 0)
		return;
	info = deliver__retry_info__unpack(NULL, detail->value.len, detail->value.data);
	if (info && info->retry_delay && info->retry_delay->seconds <= MAX_PAUSE_MS / 1000)
		set_pause(answer, info->retry_delay->seconds, info->retry_delay->nanos / 1000000);
	if (info)
		deliver__retry_info__free_unpacked(info, NULL);
}

/* RetryInfo, by which a backend says that it may be asked again, and when. */
static void read_details(struct answer *answer, const char *value)
{
	size_t size = strlen(value), n = BASE64_DECODE_LENGTH(size);
	_cleanup_free_ uint8_t *data = malloc(n + 1);
	struct base64_decode_ctx context;
	Deliver__Status *status;

	if (!data)
		return;
	base64_decode_init(&context);
	if (!base64_decode_update(&context, &n, data, size, value))
		return;
	status = deliver__status__unpack(NULL, n, data);
	if (!status)
		return;
	for (size_t i = 0; i < status->n_details; i++)
		read_delay(answer, status->details[i]);
	deliver__status__free_unpacked(status, NULL);
}

void answer_header(struct answer *answer, const char *line, size_t size,
		   time_t (*parse_date)(const char *text, const time_t *unused), time_t now)
{
	_cleanup_free_ char *copy = strndup(line, size);
	char *value = copy ? strchr(copy, ':') : NULL;

	if (!value)
		return;
	*value++ = '\0';
	value += strspn(value, " \t");
	value[strcspn(value, "\r\n")] = '\0';
	if (strcasecmp(copy, "retry-after") == 0)
		read_retry_after(answer, value, parse_date, now);
	else if (strcasecmp(copy, "grpc-status") == 0 && isdigit((unsigned char)*value))
		answer->grpc_status = (int)strtol(value, NULL, 10);
	else if (strcasecmp(copy, "grpc-message") == 0)
		read_message(answer, value);
	else if (strcasecmp(copy, "grpc-status-details-bin") == 0)
		read_details(answer, value);
}

void answer_body(struct answer *answer, const void *data, size_t size)
{
	size_t room = sizeof(answer->body) - answer->body_size;

	if (size > room)
		size = room;
	memcpy(answer->body + answer->body_size, data, size);
	answer->body_size += size;
}

/* What a backend took, and what not. */
static void read_response(struct answer *answer, const uint8_t *data, size_t size)
{
	Deliver__ExportProfilesServiceResponse *response =
		deliver__export_profiles_service_response__unpack(NULL, size, data);

	if (!response)
		return;
	if (response->partial_success) {
		int64_t rejected = response->partial_success->rejected_profiles;

		answer->rejected = rejected > 0 ? (uint64_t)rejected : 0;
		set_text(answer, response->partial_success->error_message);
	}
	deliver__export_profiles_service_response__free_unpacked(response, NULL);
}

/* Bodies of errors are texts, or messages with a text in them; of bytes, the readable ones. */
static void read_error(struct answer *answer)
{
	char text[ANSWER_TEXT_SIZE];
	size_t n = 0;

	for (size_t i = 0; i < answer->body_size && n + 1 < sizeof(text); i++)
		if (answer->body[i] >= ' ' && answer->body[i] < 0x7f)
			text[n++] = (char)answer->body[i];
	text[n] = '\0';
	if (n > 0 && !answer->text[0])
		set_text(answer, text);
}

static enum answer_verdict judge_http(const struct answer *answer)
{
	switch (answer->status) {
	case 429:
	case 502:
	case 503:
	case 504:
		return ANSWER_LATER;
	default:
		return answer->status / 100 == 2 ? ANSWER_DELIVERED : ANSWER_NEVER;
	}
}

static enum answer_verdict judge_grpc(const struct answer *answer)
{
	switch (answer->grpc_status) {
	case GRPC_OK:
		return ANSWER_DELIVERED;
	case GRPC_CANCELLED:
	case GRPC_DEADLINE_EXCEEDED:
	case GRPC_ABORTED:
	case GRPC_OUT_OF_RANGE:
	case GRPC_UNAVAILABLE:
	case GRPC_DATA_LOSS:
		return ANSWER_LATER;
	case GRPC_RESOURCE_EXHAUSTED:
		return answer->pause_ms >= 0 ? ANSWER_LATER : ANSWER_NEVER;
	case -1:
		/* It ended early, or was no server of gRPC. */
		return answer->status / 100 == 2 ? ANSWER_LATER : judge_http(answer);
	default:
		return ANSWER_NEVER;
	}
}

static enum answer_verdict judge_connect(const struct answer *answer)
{
	if (answer->status == 408 || answer->status == 429 || answer->status >= 500)
		return ANSWER_LATER;
	return answer->status / 100 == 2 ? ANSWER_DELIVERED : ANSWER_NEVER;
}

/* The message of a gRPC body that has one, uncompressed: its length follows a byte 0. */
static void read_grpc_response(struct answer *answer)
{
	const uint8_t *b = answer->body;
	size_t size;

	if (answer->body_size < 5 || b[0] != 0)
		return;
	size = (size_t)b[1] << 24 | (size_t)b[2] << 16 | (size_t)b[3] << 8 | b[4];
	if (size <= answer->body_size - 5)
		read_response(answer, b + 5, size);
}

bool answer_is_denied(const struct answer *answer)
{
	return answer->status == 401 || answer->status == 403 ||
	       answer->grpc_status == GRPC_UNAUTHENTICATED ||
	       answer->grpc_status == GRPC_PERMISSION_DENIED;
}

bool answer_blames_request(const struct answer *answer)
{
	return (answer->status > 0 || answer->was_sent) && answer->status != 429 &&
	       answer->grpc_status != GRPC_RESOURCE_EXHAUSTED;
}

static enum answer_verdict judge(const struct answer *answer)
{
	if (answer_is_denied(answer))
		return ANSWER_LATER;
	return answer->form == ANSWER_OTLP_GRPC ? judge_grpc(answer) :
	       answer->form == ANSWER_CONNECT   ? judge_connect(answer) :
						  judge_http(answer);
}

enum answer_verdict answer_judge(struct answer *answer)
{
	enum answer_verdict verdict = judge(answer);

	if (verdict != ANSWER_DELIVERED)
		read_error(answer);
	else if (answer->form == ANSWER_OTLP_GRPC)
		read_grpc_response(answer);
	else if (answer->form == ANSWER_OTLP_HTTP)
		read_response(answer, answer->body, answer->body_size);
	return verdict;
}
