// SPDX-License-Identifier: Apache-2.0
/*
 * usage: valued_usdt N LOG
 *
 * As valued.c, with a USDT probe at two places instead of a function. Says how many of one were
 * hit while nobody watched, which the probe's semaphore tells.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

unsigned short valued_hit_semaphore __attribute__((section(".probes")));
unsigned short valued_call_semaphore __attribute__((section(".probes")));

#define ROW 16

struct values {
	uint64_t id;
	const char *path;
	int32_t status;
	int16_t version;
	uint8_t level;
	signed char small;
};

static struct values rows[ROW];
static uint64_t unwatched;

/* Elements of arrays are operands with an index. */
static __attribute__((noinline)) void hit(const struct values *v, const int32_t *table, size_t i,
					  const signed char *bytes)
{
	if (!valued_hit_semaphore)
		unwatched++;
	DTRACE_PROBE8(valued, hit, v->id, v->path, v->status, v->version, v->level, table[i],
		      bytes[i], -77);
}

static __attribute__((noinline)) void hit_elsewhere(const struct values *v, int32_t element,
						    signed char byte)
{
	volatile int32_t on_stack = v->status;

	DTRACE_PROBE8(valued, hit, v->id, v->path, on_stack, v->version, v->level, element, byte,
		      -77);
}

/* A number of 64 bits, always the same for the same i. */
static uint64_t mix(uint64_t i)
{
	i = (i ^ i >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	i = (i ^ i >> 27) * UINT64_C(0x94d049bb133111eb);
	return i ^ i >> 31;
}

static void call(uint64_t i, FILE *log)
{
	uint64_t random = mix(i);
	struct values *v = &rows[i % ROW];
	int32_t table[ROW];
	signed char bytes[ROW];
	char path[64];

	for (size_t j = 0; j < ROW; j++) {
		table[j] = (int32_t)mix(i + j);
		bytes[j] = (signed char)(mix(i + j) >> 40);
	}
	snprintf(path, sizeof(path), "/p/%" PRIx64, random);
	*v = (struct values){ i,
			      path,
			      (int32_t)(random >> 7),
			      (int16_t)(random >> 3),
			      (uint8_t)(random >> 5),
			      (signed char)(random >> 9) };
	fprintf(log,
		"{\"id\": %" PRIu64 ", \"path\": \"%s\", \"status\": %d, \"version\": %d, "
		"\"level\": %d, \"element\": %d, \"byte\": %d, \"constant\": -77, "
		"\"hex\": \"0x%x\", \"wide\": %d}\n",
		v->id, v->path, v->status, v->version, v->level, table[i % ROW], bytes[i % ROW],
		(uint32_t)v->status, v->version);
	DTRACE_PROBE1(valued, call, v->id);
	if (i % 2)
		hit(v, table, i % ROW, bytes);
	else
		hit_elsewhere(v, table[i % ROW], bytes[i % ROW]);
}

int main(int argc, char **argv)
{
	FILE *log = argc == 3 ? fopen(argv[2], "w") : NULL;
	uint64_t n = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;

	if (!log) {
		fputs("usage: valued_usdt N LOG\n", stderr);
		return 2;
	}
	if (getchar() == EOF)
		return 1;
	for (uint64_t i = 0; i < n; i++)
		call(i, log);
	if (unwatched)
		fprintf(stderr, "%" PRIu64 " hits that nobody watched\n", unwatched);
	if (fclose(log) != 0)
		return 1;
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}
