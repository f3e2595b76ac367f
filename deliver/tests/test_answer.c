// SPDX-License-Identifier: Apache-2.0
/* What answers mean, by the tables of OTLP 1.x ("Failures"), of gRPC's status codes and of RFC 9110. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "deliver/answer.h"

#define NOW 1700000000

static struct answer answer;

static time_t no_date(const char *text, const time_t *unused)
{
	if (strcmp(text, "Nov 14 292277024") == 0)
		return 9223372036854776 + NOW;
	return strcmp(text, "Tue, 14 Nov 2023 22:13:50 GMT") == 0 ? NOW + 30 : -1;
}

static void header(const char *line)
{
	answer_header(&answer, line, strlen(line), no_date, NOW);
}

static enum answer_verdict http(enum answer_form form, long status)
{
	answer_init(&answer, form);
	answer.status = status;
	return answer_judge(&answer);
}

static enum answer_verdict grpc(int status, const char *more)
{
	char line[64];

	answer_init(&answer, ANSWER_OTLP_GRPC);
	answer.status = 200;
	snprintf(line, sizeof(line), "grpc-status: %d\r\n", status);
	header(line);
	if (more)
		header(more);
	return answer_judge(&answer);
}

Test(answer, of_http)
{
	static const long never[] = { 301, 400, 404, 408, 413, 500, 501 };
	static const long later[] = { 401, 403, 429, 502, 503, 504 };

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		cr_assert_eq(http(ANSWER_OTLP_HTTP, never[i]), ANSWER_NEVER);
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		cr_assert_eq(http(ANSWER_OTLP_HTTP, later[i]), ANSWER_LATER);
	cr_assert_eq(http(ANSWER_OTLP_HTTP, 200), ANSWER_DELIVERED);
	cr_assert_eq(http(ANSWER_CONNECT, 500), ANSWER_LATER);
	cr_assert_eq(http(ANSWER_CONNECT, 413), ANSWER_NEVER);
	/* A server that is none of gRPC. */
	cr_assert_eq(http(ANSWER_OTLP_GRPC, 503), ANSWER_LATER);
	cr_assert_eq(http(ANSWER_OTLP_GRPC, 200), ANSWER_LATER);
	cr_assert_eq(http(ANSWER_OTLP_GRPC, 404), ANSWER_NEVER);
}

/* Codes 0 to 16. */
Test(answer, of_grpc)
{
	for (int i = 0; i <= 16; i++) {
		bool is_later = i == 1 || i == 4 || i == 7 || i == 10 || i == 11 || i >= 14;

		cr_assert_eq(grpc(i, NULL), i == 0   ? ANSWER_DELIVERED :
					    is_later ? ANSWER_LATER :
						       ANSWER_NEVER);
	}
	cr_assert_eq(grpc(3, "Grpc-Message: 1%20%25 \xff%0a%\r\n"), ANSWER_NEVER);
	cr_assert_str_eq(answer.text, "1 % ??%");
}

/* A token that has just been replaced. */
Test(answer, may_deny)
{
	cr_assert_eq(http(ANSWER_CONNECT, 401), ANSWER_LATER);
	cr_assert(answer_is_denied(&answer));
	cr_assert_eq(http(ANSWER_OTLP_GRPC, 403), ANSWER_LATER);
	cr_assert(answer_is_denied(&answer));
	grpc(16, NULL);
	cr_assert(answer_is_denied(&answer));
	grpc(7, NULL);
	cr_assert(answer_is_denied(&answer));
	cr_assert(answer_blames_request(&answer)); /* or what it is about */
	grpc(14, NULL);
	cr_assert_not(answer_is_denied(&answer));
}

Test(answer, may_be_for_the_request_alone)
{
	http(ANSWER_CONNECT, 500);
	cr_assert(answer_blames_request(&answer));
	http(ANSWER_OTLP_HTTP, 429);
	cr_assert_not(answer_blames_request(&answer));
	http(ANSWER_OTLP_HTTP, 503);
	cr_assert(answer_blames_request(&answer));
	header("Retry-After: 7");
	cr_assert(answer_blames_request(&answer));
	http(ANSWER_CONNECT, 403);
	cr_assert(answer_blames_request(&answer));
	grpc(14, NULL);
	cr_assert(answer_blames_request(&answer));
	grpc(8, "Retry-After: 7");
	cr_assert_not(answer_blames_request(&answer));
	answer_init(&answer, ANSWER_OTLP_HTTP);
	cr_assert_not(answer_blames_request(&answer)); /* it was not reached */
	answer.was_sent = true;
	cr_assert(answer_blames_request(&answer));
}

/* A google.rpc.Status of code 8 with a RetryInfo of 7.5 seconds. */
Test(answer, of_grpc_may_say_when)
{
	cr_assert_eq(grpc(8,
			  "grpc-status-details-bin: "
			  "CAgaNgoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIKCggIBx"
			  "CAyrXuAQ==\r\n"),
		     ANSWER_LATER);
	cr_assert_eq(answer.pause_ms, 7500);
	cr_assert_eq(grpc(8, "grpc-status-details-bin: %%%\r\n"), ANSWER_NEVER);
	/* -9223372036854776 seconds, of which milliseconds do not fit into 64 bits. */
	cr_assert_eq(grpc(8, "grpc-status-details-bin: "
			     "CAgaOQoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxINCg"
			     "sIiNjy0MXszu//AQ==\r\n"),
		     ANSWER_LATER);
	cr_assert_eq(answer.pause_ms, 0);
}

Test(answer, may_say_when)
{
	answer_init(&answer, ANSWER_OTLP_HTTP);
	header("Retry-After: 7\r\n");
	cr_assert_eq(answer.pause_ms, 7000);
	header("RETRY-AFTER:Tue, 14 Nov 2023 22:13:50 GMT\r\n");
	cr_assert_eq(answer.pause_ms, 30000);
	header("Retry-After: 99999999999999999999\r\n");
	cr_assert_eq(answer.pause_ms, 24 * 3600 * 1000);
	header("Retry-After: 7\r\n");
	header("Retry-After: Nov 14 292277024\r\n");
	cr_assert_eq(answer.pause_ms, 24 * 3600 * 1000);
	answer_init(&answer, ANSWER_OTLP_HTTP);
	header("Retry-After: soon\r\n");
	header("Retry-After\r\n");
	cr_assert_eq(answer.pause_ms, -1);
}

/* ExportProfilesServiceResponse{ partial_success { rejected_profiles: 3, error_message: "no" } } */
static const uint8_t partial[] = { 0x0a, 6, 8, 3, 0x12, 2, 'n', 'o' };

Test(answer, may_be_that_some_are_not_wanted)
{
	const uint8_t head[] = { 0, 0, 0, 0, sizeof(partial) };

	answer_init(&answer, ANSWER_OTLP_HTTP);
	answer.status = 200;
	answer_body(&answer, partial, sizeof(partial));
	cr_assert_eq(answer_judge(&answer), ANSWER_DELIVERED);
	cr_assert_eq(answer.rejected, 3);
	cr_assert_str_eq(answer.text, "no");
	answer_init(&answer, ANSWER_OTLP_GRPC);
	answer.status = 200;
	header("grpc-status: 0");
	answer_body(&answer, head, sizeof(head));
	answer_body(&answer, partial, sizeof(partial));
	cr_assert_eq(answer_judge(&answer), ANSWER_DELIVERED);
	cr_assert_eq(answer.rejected, 3);
}

Test(answer, has_a_limited_size)
{
	uint8_t big[5000];

	memset(big, 'x', sizeof(big));
	answer_init(&answer, ANSWER_OTLP_HTTP);
	answer.status = 400;
	for (int i = 0; i < 10; i++)
		answer_body(&answer, big, sizeof(big));
	cr_assert_eq(answer.body_size, ANSWER_BODY_SIZE);
	cr_assert_eq(answer_judge(&answer), ANSWER_NEVER);
	cr_assert_eq(strlen(answer.text), ANSWER_TEXT_SIZE - 1);
}
