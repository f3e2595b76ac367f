// SPDX-License-Identifier: Apache-2.0
/*
 * usage: valued N LOG
 *
 * Once there is a line on stdin, calls take() N times, and writes the values of each call to LOG: an
 * object in JSON per line, in the form that dwarfprof's labels have. Then says "done", and waits for
 * the end of stdin.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOT_THERE ((const char *)16)
#define LONGEST 300
#define CUT 255

enum method { METHOD_GET, METHOD_PUT = 7 };
#define NOT_A_METHOD 3

struct header {
	short version;
	const char *method;
	char host[16];
};

struct request {
	uint64_t id;
	const struct header *header;
	int32_t status;
	enum method kind;
	uint8_t level;
	double ratio;
	float share;
};

static volatile uint64_t sum;

/* GCC copies functions for what it knows of their arguments, or leaves out what they do not need. */
#ifdef __clang__
#define AS_IT_IS __attribute__((noinline))
#else
#define AS_IT_IS __attribute__((noipa))
#endif

static __attribute__((noinline)) void scale(uint64_t by, uint64_t factor, uint64_t unused)
{
	sum += by * factor;
}

AS_IT_IS int32_t take(uint64_t size, const char *path, signed char small,
		      const struct request *request, bool flag, char letter, int32_t seventh,
		      uint16_t eighth)
{
	scale(size, 200, sum);
	sum += size + (path > NOT_THERE) + (uint64_t)small + request->id + flag + (uint64_t)letter +
	       (uint64_t)seventh + eighth;
	return (int32_t)(request->id * 5) - 1000;
}

AS_IT_IS double half_of(double whole)
{
	return whole / 2;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Takes as many times 20 us as its calls are deep. Returns how long that was, to its own clock. */
AS_IT_IS uint64_t spend(uint64_t depth)
{
	uint64_t start = now_ns();

	if (depth > 1)
		sum += spend(depth - 1);
	while (now_ns() - start < depth * 20000)
		continue;
	return now_ns() - start;
}

/* A number of 64 bits, always the same for the same i. */
static uint64_t mix(uint64_t i)
{
	i = (i ^ i >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	i = (i ^ i >> 27) * UINT64_C(0x94d049bb133111eb);
	return i ^ i >> 31;
}

/* Numbers are numbers in JSON as far as a signed one of 64 bits can be. */
static void log_unsigned(FILE *log, const char *key, uint64_t value)
{
	const char *quote = value > INT64_MAX ? "\"" : "";

	fprintf(log, "\"%s\": %s%" PRIu64 "%s, ", key, quote, value, quote);
}

static void log_text(FILE *log, const char *key, const char *text)
{
	if (text == NOT_THERE)
		fprintf(log, "\"%s\": \"<unread>\", ", key);
	else
		fprintf(log, "\"%s\": \"%.*s%s\", ", key, CUT, text,
			strlen(text) >= CUT ? "…" : "");
}

static const int kinds[] = { METHOD_GET, METHOD_PUT, NOT_A_METHOD, METHOD_PUT };

/* The name, where there is one. */
static void log_kind(FILE *log, enum method kind)
{
	fprintf(log, "\"kind_number\": %d, ", (int)kind);
	if ((int)kind == NOT_A_METHOD)
		fprintf(log, "\"kind\": %d, ", (int)kind);
	else
		fprintf(log, "\"kind\": \"%s\", ",
			kind == METHOD_GET ? "METHOD_GET" : "METHOD_PUT");
}

static void call(uint64_t i, FILE *log)
{
	uint64_t random = mix(i);
	char path[LONGEST + 32];
	const char *given = random % 101 == 7 ? NOT_THERE : path;
	struct header header = { .version = (short)random, .method = random & 1 ? "GET" : "PUT" };
	struct request request = { .id = i,
				   .header = &header,
				   .status = (int32_t)(random >> 7),
				   .kind = (enum method)kinds[random / 2 % 4],
				   .level = (uint8_t)(random >> 3),
				   .ratio = half_of((double)random / 3),
				   .share = (float)(random % 1000) / 8 };
	int length = snprintf(path, sizeof(path), "/p/%" PRIx64, random);

	memset(path + length, 'x', random % LONGEST);
	path[length + (int)(random % LONGEST)] = '\0';
	snprintf(header.host, sizeof(header.host), "h%u", (unsigned int)random % 1000);
	fputs("{", log);
	log_unsigned(log, "size", random);
	log_text(log, "path", given);
	fprintf(log, "\"small\": %d, ", (signed char)random);
	fprintf(log, "\"hex\": \"0x%x\", ", (uint16_t)random);
	fprintf(log, "\"flag\": \"%s\", ", random & 4 ? "true" : "false");
	fprintf(log, "\"letter\": \"%c\", ", 'a' + (int)(random % 26));
	fprintf(log, "\"seventh\": %d, \"eighth\": %d, ", (int32_t)(random >> 11),
		(uint16_t)(random >> 13));
	fprintf(log, "\"status\": %d, \"level\": %d, ", request.status, request.level);
	fprintf(log, "\"ratio\": %.17g, \"share\": %.9g, ", request.ratio, (double)request.share);
	log_kind(log, request.kind);
	fprintf(log, "\"version\": %d, ", header.version);
	log_text(log, "method", header.method);
	log_text(log, "host", header.host);
	fprintf(log, "\"ret\": %d, ", (int32_t)(i * 5) - 1000);
	fprintf(log, "\"id\": %" PRIu64 "}\n", i);
	if (i % 64 == 0)
		spend(1 + random % 8);
	take(random, given, (signed char)random, &request, random & 4, (char)('a' + random % 26),
	     (int32_t)(random >> 11), (uint16_t)(random >> 13));
}

int main(int argc, char **argv)
{
	FILE *log = argc == 3 ? fopen(argv[2], "w") : NULL;
	uint64_t n = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;

	if (!log) {
		fputs("usage: valued N LOG\n", stderr);
		return 2;
	}
	if (getchar() == EOF)
		return 1;
	for (uint64_t i = 0; i < n; i++)
		call(i, log);
	if (fclose(log) != 0)
		return 1;
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}
