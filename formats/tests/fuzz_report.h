/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_TESTS_FUZZ_REPORT_H
#define DP_FORMATS_TESTS_FUZZ_REPORT_H

#include <jansson.h>

#include "base/array.h"
#include "cfi/tests/fuzz.h"
#include "formats/report_format.h"
#include "report/report.h"
#include "text/text.h"

/*
 * What a report is, whatever its samples are. HTML is left out: it is the data of speedscope's format
 * inside a viewer of megabytes.
 */
enum form {
	FORM_ANY,
	FORM_LINES, /* for terminals, which may not be told anything by it */
	FORM_MARKUP,
	FORM_JSON,
	FORM_JSON_LINES,
	FORM_RECORDING, /* which its reader has to check */
};

static const struct {
	const char *name; /* NULL: that of `dwarfprof dump` */
	enum form form;
} formats[] = {
	{ "text", FORM_LINES },       { "folded", FORM_LINES },
	{ NULL, FORM_LINES },         { "perf-script", FORM_LINES },
	{ "jsonl", FORM_JSON_LINES }, { "json", FORM_JSON },
	{ "speedscope", FORM_JSON },  { "firefox", FORM_JSON },
	{ "svg", FORM_MARKUP },       { "pprof", FORM_ANY },
	{ "firefox-gz", FORM_ANY },   { "recording", FORM_RECORDING },
	{ "otlp", FORM_ANY },
};

static const struct report_format *format_at(size_t which)
{
	const struct report_format *format =
		formats[which].name ? report_format_by_name(formats[which].name) : &report_stacks;

	EXPECT(format);
	return format;
}

/* UTF-8 without control characters. */
static void check_characters(const char *text, size_t size)
{
	json_t *string = json_stringn(text, size);

	EXPECT(string || size == 0);
	json_decref(string);
	for (size_t i = 0; i < size; i++) {
		uint8_t c = (uint8_t)text[i], next = i + 1 < size ? (uint8_t)text[i + 1] : 0;

		EXPECT(c >= ' ' || c == '\n' || c == '\t');
		EXPECT(c != 0x7f && !(c == 0xc2 && next < 0xa0));
	}
}

static void check_json(const char *text, size_t size)
{
	json_error_t error;
	json_t *json = json_loadb(text, size, JSON_ALLOW_NUL, &error);

	EXPECT(json);
	json_decref(json);
}

static void check_json_lines(const char *text, size_t size, uint64_t n)
{
	uint64_t lines = 0;

	for (const char *end = text + size, *next; text < end; text = next, lines++) {
		next = memchr(text, '\n', (size_t)(end - text));
		EXPECT(next);
		check_json(text, (size_t)(next++ - text));
	}
	EXPECT(lines >= n);
}

/* Of a report of n samples. */
static void check_form(enum form form, const char *text, size_t size, uint64_t n)
{
	switch (form) {
	case FORM_ANY:
	case FORM_RECORDING:
		EXPECT(size > 0);
		break;
	case FORM_LINES:
		EXPECT(size == 0 || text[size - 1] == '\n');
		check_characters(text, size);
		break;
	case FORM_MARKUP:
		check_characters(text, size);
		break;
	case FORM_JSON:
		check_json(text, size);
		break;
	case FORM_JSON_LINES:
		check_json_lines(text, size, n);
		break;
	}
}

#endif
