// SPDX-License-Identifier: Apache-2.0
/*
 * Reports of recordings of any bytes. Input: the format (1), after how many samples an interval ends
 * (1, 0: never), and a recording as for the target `recording`.
 *
 * HTML is left out: it is the data of speedscope's format inside a viewer of megabytes.
 */
#include <errno.h>
#include <jansson.h>

#include "base/array.h"
#include "cfi/tests/fuzz.h"
#include "report/recording_reader.h"
#include "report/report.h"
#include "report/tests/recording_file.h"
#include "symbols/names.h"

/* What a report is, beside being written without an error. */
enum form {
	FORM_ANY,
	FORM_LINES, /* for terminals, which may not be told anything by it */
	FORM_MARKUP,
	FORM_JSON,
	FORM_JSON_LINES,
	FORM_RECORDING,
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
};

struct run {
	struct report *report;
	unsigned int interval;
	uint64_t n;
};

static int add(void *arg, const struct sample *sample, const struct totals *totals)
{
	struct run *run = arg;

	run->n++;
	if (run->report) {
		EXPECT(report_add(run->report, sample, totals) == 0);
		if (run->interval && run->n % run->interval == 0)
			EXPECT(report_tick(run->report, totals) == 0);
	}
	return 0;
}

static struct recording_reader *open_recording(FILE *file, struct names *names)
{
	const struct recording_options options = { .names = names };
	char why[RECORDING_WHY_SIZE] = "";
	struct recording_reader *reader;

	return recording_reader_new(file, &options, &reader, why) == 0 ? reader : NULL;
}

/* The same samples are in a recording of a recording. */
static void check_recording(char *text, size_t size, struct names *names, uint64_t n)
{
	FILE *file = fmemopen(text, size, "r");
	struct recording_reader *reader;
	struct run again = { 0 };

	EXPECT(file);
	reader = open_recording(file, names);
	EXPECT(reader && recording_reader_run(reader, add, &again) == 0);
	EXPECT(!recording_reader_fault(reader));
	EXPECT(again.n == n);
	recording_reader_free(reader);
	fclose(file);
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

static void check(enum form form, char *text, size_t size, struct names *names, uint64_t n)
{
	switch (form) {
	case FORM_ANY:
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
	case FORM_RECORDING:
		check_recording(text, size, names, n);
		break;
	}
}

static void write_report(size_t which, unsigned int interval, FILE *file, struct names *names)
{
	const struct report_format *format =
		formats[which].name ? report_format_by_name(formats[which].name) : &report_stacks;
	struct recording_reader *reader = open_recording(file, names);
	struct run run = { .interval = interval };
	char *text = NULL;
	size_t size;
	FILE *to;

	if (!reader)
		return;
	to = open_memstream(&text, &size);
	EXPECT(to && format);
	EXPECT(report_new(format, recording_reader_context(reader), to, &run.report) == 0);
	EXPECT(recording_reader_run(reader, add, &run) == 0);
	EXPECT(report_finish(run.report, recording_reader_totals(reader)) == 0);
	report_free(run.report);
	EXPECT(fclose(to) == 0);
	check(formats[which].form, text, size, names, run.n);
	recording_reader_free(reader);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct names_options plain = { 0 };
	struct feed feed = { data, data + size };
	size_t which = feed_u8(&feed) % ARRAY_SIZE(formats), file_size = 0;
	unsigned int interval = feed_u8(&feed);
	size_t kind = feed_u8(&feed);
	struct names *names;
	char *bytes = NULL;
	FILE *file;

	/* glibc's fmemopen() refuses an empty file. */
	if (feed.pos == feed.end)
		return 0;
	EXPECT(names_new(&plain, &names) == 0);
	if (kind > 0)
		recording_file_make(&feed, 16 * kind, &bytes, &file_size);
	file = bytes ? fmemopen(bytes, file_size, "r") :
		       fmemopen((void *)feed.pos, (size_t)(feed.end - feed.pos), "r");
	EXPECT(file);
	write_report(which, interval, file, names);
	fclose(file);
	free(bytes);
	names_free(names);
	return 0;
}
