/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DELIVER_ANSWER_H
#define DP_DELIVER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Interprets the answers of backends. */

enum answer_form {
	ANSWER_OTLP_HTTP,
	ANSWER_OTLP_GRPC,
	ANSWER_CONNECT, /* Pyroscope's */
};

enum answer_verdict {
	ANSWER_DELIVERED,
	ANSWER_LATER, /* it may succeed if it is repeated */
	ANSWER_NEVER,
};

#define ANSWER_TEXT_SIZE 256
#define ANSWER_BODY_SIZE ((size_t)16 << 10) /* what is read of it */

/* An answer while it arrives. */
struct answer {
	enum answer_form form;
	long status;                 /* HTTP's */
	int grpc_status;             /* -1: none came */
	int64_t pause_ms;            /* by the backend's wish; -1: none */
	bool was_sent;               /* some of the request, if no answer came */
	uint64_t rejected;           /* profiles, of a request that was taken */
	char text[ANSWER_TEXT_SIZE]; /* what it said, for the log; "": nothing */
	uint8_t body[ANSWER_BODY_SIZE];
	size_t body_size;
};

void answer_init(struct answer *answer, enum answer_form form);

/*
 * Takes a line of the head or the trailer. `parse_date` reads HTTP's form of a date, or returns -1;
 * now: seconds since 1970.
 */
void answer_header(struct answer *answer, const char *line, size_t size,
		   time_t (*parse_date)(const char *text, const time_t *unused), time_t now);

/* The rest of a body that is too long is ignored. */
void answer_body(struct answer *answer, const void *data, size_t size);

/*
 * Judges a complete answer. OpenTelemetry: OTLP 1.x, "Failures" of OTLP/gRPC and OTLP/HTTP; Connect:
 * its protocol's errors; those are retried that Grafana Alloy retries.
 */
enum answer_verdict answer_judge(struct answer *answer);

/* The backend rejects the credentials. They have probably been changed there, and will be here. */
bool answer_is_denied(const struct answer *answer);

/*
 * For ANSWER_LATER: whether the request itself may be the cause, not just the state of the backend. A server may
 * reject a request for its contents, or fail on it, and yet ask for a retry.
 */
bool answer_blames_request(const struct answer *answer);

#endif
