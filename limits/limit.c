// SPDX-License-Identifier: Apache-2.0
#include "limits/limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "bpf/abi.h"
#include "bpf/share.h"
#include "bpf/walk_state.h"
#include "limits/limits.h"

/* Most of the macros of limits.def are two values: how anybody learns of it, and the words. */
static const struct limit rows[] = {
#define GROUP(name) { .group = (name) },
#define OUTCOME(words) LIMIT_OUTCOME, words
#define MESSAGE(words) LIMIT_MESSAGE, words
#define NAMES LIMIT_MESSAGE, LIMIT_NAMES_WORDS
#define SEEN(words) LIMIT_SEEN, words
#define HARMLESS LIMIT_HARMLESS, ""
#define LIMIT(name, unit, what, told, beyond) { NULL, #name, (name), unit, what, told, beyond },
#include "limits/limits.def"
};

const struct limit *limits_list(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(rows);
	return rows;
}

const char *limit_told_word(enum limit_told told)
{
	static const char *const words[] = {
#define X(name, word) word,
		LIMIT_TOLD(X)
#undef X
	};

	return words[told];
}

static void write_time(uint64_t ns, char ret[LIMIT_TEXT_SIZE])
{
	if (ns % 1000000000 == 0)
		snprintf(ret, LIMIT_TEXT_SIZE, "%" PRIu64 " s", ns / 1000000000);
	else
		snprintf(ret, LIMIT_TEXT_SIZE, "%" PRIu64 " ms", ns / 1000000);
}

static void write_size(uint64_t bytes, char ret[LIMIT_TEXT_SIZE])
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB" };
	size_t i = 0;

	for (; i + 1 < ARRAY_SIZE(units) && bytes > 0 && bytes % 1024 == 0; i++)
		bytes /= 1024;
	snprintf(ret, LIMIT_TEXT_SIZE, "%" PRIu64 " %s", bytes, units[i]);
}

void limit_write(const struct limit *limit, char ret[LIMIT_TEXT_SIZE])
{
	if (strcmp(limit->unit, "ns") == 0)
		write_time(limit->value, ret);
	else if (strcmp(limit->unit, "bytes") == 0)
		write_size(limit->value, ret);
	else
		snprintf(ret, LIMIT_TEXT_SIZE, "%" PRIu64 " %s", limit->value, limit->unit);
}
