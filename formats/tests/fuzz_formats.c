// SPDX-License-Identifier: Apache-2.0
/*
 * Reports of recordings of any bytes. Input: the format (1), after how many samples an interval ends
 * (1, 0: never), and a recording as for the target `recording`.
 */
#include "formats/tests/fuzz_report.h"
#include "recording/recording_reader.h"
#include "recording/tests/recording_file.h"
#include "symbols/names.h"

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

static void write_report(size_t which, unsigned int interval, FILE *file, struct names *names)
{
	struct recording_reader *reader = open_recording(file, names);
	struct run run = { .interval = interval };
	char *text = NULL;
	size_t size;
	FILE *to;

	if (!reader)
		return;
	to = open_memstream(&text, &size);
	EXPECT(to);
	EXPECT(report_new(format_at(which), recording_reader_context(reader), to, &run.report) ==
	       0);
	EXPECT(recording_reader_run(reader, add, &run) == 0);
	EXPECT(report_finish(run.report, recording_reader_totals(reader)) == 0);
	report_free(run.report);
	EXPECT(fclose(to) == 0);
	check_form(formats[which].form, text, size, run.n);
	if (formats[which].form == FORM_RECORDING)
		check_recording(text, size, names, run.n);
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
