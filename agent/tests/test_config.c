// SPDX-License-Identifier: Apache-2.0
/* Which entries, and where, a configuration file has: of long lines above all. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config.h"
#include "base/array.h"
#include "base/cleanup.h"

struct seen {
	size_t n, value_length;
	unsigned int line, value_column;
	char key[64], value_end[16], wrong[64];
};

static int note(void *arg, const struct config_entry *entry)
{
	struct seen *seen = arg;
	size_t length = strlen(entry->value);

	seen->n++;
	seen->line = entry->line;
	seen->value_column = entry->value_column;
	seen->value_length = length;
	snprintf(seen->key, sizeof(seen->key), "%s", entry->key);
	snprintf(seen->value_end, sizeof(seen->value_end), "%s",
		 entry->value + (length < 3 ? 0 : length - 3));
	snprintf(seen->wrong, sizeof(seen->wrong), "%s", entry->wrong ? entry->wrong : "");
	return entry->wrong ? 1 : 0;
}

static struct seen read_text(const char *text, size_t size)
{
	_cleanup_fclose_ FILE *from = fmemopen((void *)text, size, "r");
	struct seen seen = { 0 };

	cr_assert_eq(config_read(from, note, &seen), seen.wrong[0] ? 1 : 0);
	return seen;
}

/* A comment, and a line of so many bytes that ends with xyz. */
static struct seen read_line(size_t length, const char *end)
{
	_cleanup_free_ char *text = NULL, *value = malloc(length);

	memset(value, 'v', length);
	value[length - strlen("key = xyz")] = '\0';
	cr_assert_gt(asprintf(&text, "# first\nkey = %sxyz%s", value, end), 0);
	return read_text(text, strlen(text));
}

TestSuite(config);

Test(config, long_lines)
{
	const size_t lengths[] = { 100, 196, 197, 198, 4096, config_line_max };

	for (size_t i = 0; i < ARRAY_SIZE(lengths) && lengths[i] <= config_line_max; i++) {
		struct seen seen = read_line(lengths[i], "\n[kind a]\nlast = 1\n");

		cr_assert_eq(seen.n, 3, "%zu bytes: %zu entries, %s", lengths[i], seen.n,
			     seen.wrong);
		cr_assert_eq(seen.line, 4);
		seen = read_line(lengths[i], "");
		cr_assert_eq(seen.n, 1);
		cr_assert_eq(seen.value_length, lengths[i] - strlen("key = "));
		cr_assert_str_eq(seen.value_end, "xyz");
		cr_assert_eq(seen.value_column, strlen("key = ") + 1);
	}
}

Test(config, too_long)
{
	struct seen seen = read_line(config_line_max + 1, "\n");

	cr_assert_eq(seen.n, 1);
	cr_assert_eq(seen.line, 2);
	cr_assert(strstr(seen.wrong, "the line is longer than"), "%s", seen.wrong);
	cr_assert_str_eq(read_line(config_line_max + 1, "").wrong, seen.wrong);
}

Test(config, nul_bytes)
{
	static const char text[] = "a = 1\nkey = /x\0y\n";
	struct seen seen = read_text(text, sizeof(text) - 1);

	cr_assert_eq(seen.n, 2);
	cr_assert_eq(seen.line, 2);
	cr_assert_str_eq(seen.wrong, "there is a NUL byte in the line");
}
